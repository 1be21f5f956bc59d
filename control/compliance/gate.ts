import {
  isInside,
  nextAllowedAt,
  type Purpose,
  type WindowNarrowing,
  type WindowRules,
  windowFor,
} from './calling-hours.js'
import { classifyNumber } from './numbering.js'

/*
 * The pre-dial compliance gate as a pure function of the request, the known facts and the time. It returns a
 * verdict with every check it made. Its caller reads the facts and stores the rows.
 */

export type Environment = 'test' | 'live'

export const CHECK_TYPES = [
  'number_format',
  'dnc',
  'enforcement',
  'verification',
  'calling_window',
  'dnd_register',
  'consent',
  'frequency_cap',
  'robocall_declaration',
  'sender_registration',
  'wallet',
] as const
export type CheckType = (typeof CHECK_TYPES)[number]

export type CheckOutcome = 'pass' | 'warn' | 'block' | 'skipped'
export type GateTrigger = 'call' | 'campaign' | 'preflight' | 'manual' | 'origination' | 'byo'
export type BlockCode =
  | 'blocked_dnd'
  | 'blocked_opt_out'
  | 'blocked_dlt_invalid'
  | 'insufficient_funds'
  | 'validation_error'

export interface GateRequest {
  readonly to: string
  readonly environment: Environment
  readonly purpose: Purpose
  readonly trigger: GateTrigger
}

/** Facts that the checks may use. To add a check, add its facts here and its function to `CHECKS`. */
export interface GateFacts {
  readonly policyVersion: string
  readonly windows: WindowRules
  readonly windowNarrowing: WindowNarrowing | null
  readonly extraMobilePrefixes: readonly string[]
  /** The operator's block of this organization. */
  readonly enforcement: { readonly blocked: boolean; readonly reason: string | null }
  /** Null in the test environment, where calls cost nothing. */
  readonly wallet: {
    readonly balancePaise: number
    /** The balance without what is held for other calls. */
    readonly availablePaise: number
    readonly minBalancePaise: number
    readonly onHold: boolean
  } | null
}

export interface Check {
  readonly type: CheckType
  readonly outcome: CheckOutcome
  /** The error code that refuses the call; null unless the check blocks. */
  readonly code: BlockCode | null
  /** Machine-readable slug. */
  readonly reason: string
  readonly message: string
  readonly source: string | null
  readonly details: Readonly<Record<string, unknown>>
  /** Unix ms from which this check would pass. Null when waiting does not help. */
  readonly nextAllowedAt: number | null
}

export type GateVerdict =
  | { readonly allow: true; readonly checks: readonly Check[] }
  | {
      readonly allow: false
      readonly code: BlockCode
      /** The first check that blocked. It determines the code. */
      readonly deciding: Check
      readonly nextAllowedAt: number | null
      readonly checks: readonly Check[]
    }

type Finding = Omit<Check, 'type' | 'code'>
type CheckRule = (request: GateRequest, facts: GateFacts, now: number) => Finding

const CODE_OF: Readonly<Record<CheckType, BlockCode>> = {
  number_format: 'validation_error',
  dnc: 'blocked_dnd',
  enforcement: 'blocked_opt_out',
  verification: 'blocked_opt_out',
  calling_window: 'blocked_opt_out',
  dnd_register: 'blocked_dnd',
  // Never blocks. Listed to keep the table complete.
  consent: 'blocked_opt_out',
  frequency_cap: 'blocked_opt_out',
  robocall_declaration: 'blocked_dlt_invalid',
  sender_registration: 'blocked_dlt_invalid',
  wallet: 'insufficient_funds',
}

/** Checks that cost money. They are skipped once another check has blocked. */
const PAID: ReadonlySet<CheckType> = new Set(['dnd_register', 'wallet'])

const CHECKS: Partial<Readonly<Record<CheckType, CheckRule>>> = {
  number_format: (request, facts) => {
    const found = classifyNumber(request.to, facts.extraMobilePrefixes)
    if (found.kind === 'subscriber') {
      return plain('pass', 'dialable', 'The number is an Indian number that can be called.', {
        lineType: found.lineType,
      })
    }
    return plain('block', `number_${found.kind}`, 'The number cannot be called.', { class: found.kind })
  },

  enforcement: (_request, facts) =>
    facts.enforcement.blocked
      ? plain(
          'block',
          facts.enforcement.reason ?? 'organization_blocked',
          'Calling is blocked for this organization.',
        )
      : plain('pass', 'not_restricted', 'No restriction is set on this organization.'),

  calling_window: (request, facts, now) => {
    const window = windowFor(request.purpose, facts.windows, facts.windowNarrowing)
    if (!window) {
      return plain('pass', 'no_window', `No calling window applies to ${request.purpose} calls.`)
    }
    const open = isInside(window, now)
    return {
      outcome: open ? 'pass' : 'block',
      reason: open ? 'inside_window' : 'outside_window',
      message: open
        ? `Inside the calling window of ${request.purpose} calls.`
        : `Outside the calling window of ${request.purpose} calls.`,
      source: window.source,
      details: {
        windowStartMinute: window.startMinute,
        windowEndMinute: window.endMinute,
        effectiveFrom: window.effectiveFrom,
      },
      nextAllowedAt: open ? null : nextAllowedAt(window, now),
    }
  },

  wallet: (_request, { wallet }) => {
    if (wallet === null) return plain('pass', 'simulated', 'Calls of the test environment cost nothing.')
    const { onHold, availablePaise, minBalancePaise } = wallet
    if (onHold) return plain('block', 'wallet_on_hold', 'The wallet is on hold.', wallet)
    return availablePaise >= minBalancePaise
      ? plain('pass', 'covered', 'The available balance covers a call.', { minBalancePaise })
      : plain('block', 'balance_too_low', 'The available balance does not cover a call.', wallet)
  },
}

/**
 * Runs every check in the fixed order. All checks run even after a block, because each one is evidence;
 * checks that cost money are then `skipped`.
 */
export function decide(request: GateRequest, facts: GateFacts, now: number): GateVerdict {
  const checks: Check[] = []
  let deciding: Check | null = null
  for (const type of CHECK_TYPES) {
    const rule = CHECKS[type]
    if (!rule) continue
    const finding =
      deciding && PAID.has(type)
        ? plain('skipped', 'already_blocked', 'Skipped: an earlier check blocked the call.')
        : rule(request, facts, now)
    const check: Check = { type, code: finding.outcome === 'block' ? CODE_OF[type] : null, ...finding }
    checks.push(check)
    if (check.outcome === 'block') deciding ??= check
  }
  if (!deciding) return { allow: true, checks }
  return { allow: false, code: CODE_OF[deciding.type], deciding, nextAllowedAt: latest(checks), checks }
}

/** The checks that this build implements. Live calls require all of them. */
export const IMPLEMENTED_CHECKS: ReadonlySet<CheckType> = new Set(
  CHECK_TYPES.filter((type) => CHECKS[type] !== undefined),
)

/** The codes with which the gate refuses a call, without the one for numbers that the request schema refuses. */
export const BLOCK_CODES: readonly Exclude<BlockCode, 'validation_error'>[] = [
  ...new Set([...IMPLEMENTED_CHECKS].map((type) => CODE_OF[type])),
].filter((code) => code !== 'validation_error')

/** Returns the time at which all blocks have passed (Unix ms), or null when one of them does not expire. */
function latest(checks: readonly Check[]): number | null {
  let at = 0
  for (const check of checks) {
    if (check.outcome !== 'block') continue
    if (check.nextAllowedAt === null) return null
    at = Math.max(at, check.nextAllowedAt)
  }
  return at
}

function plain(
  outcome: CheckOutcome,
  reason: string,
  message: string,
  details: Readonly<Record<string, unknown>> = {},
): Finding {
  return { outcome, reason, message, source: null, details, nextAllowedAt: null }
}
