import {
  ASKED_LATER,
  type BlockCode,
  CHECK_TYPES,
  type Check,
  type CheckType,
  type Finding,
  finding,
  type GateFacts,
  type GateRequest,
  NO_CALLER_ID,
  REGISTER_UNKNOWN,
} from './check.js'
import { CHECKS, EXEMPT } from './checks/registry.js'

/*
 * The pre-dial compliance gate as a pure function of the request, the known facts and the time. It returns a
 * verdict with every check it made. Its caller reads the facts and stores the rows.
 */

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

/**
 * Runs every check in the fixed order. All checks run even after a block, because each one is evidence;
 * checks that cost money are then `skipped`, and so are checks that this kind of call does not need. `types` are the checks of
 * an earlier release, for a decision that it made.
 */
export function decide(
  request: GateRequest,
  facts: GateFacts,
  now: number,
  types: readonly CheckType[] = CHECK_TYPES,
): GateVerdict {
  const checks: Check[] = []
  let deciding: Check | null = null
  for (const type of types) {
    const check = CHECKS[type]
    const found = EXEMPT[request.trigger]?.has(type)
      ? finding('skipped', 'not_applicable', `The check does not apply to ${request.trigger} calls.`)
      : deciding !== null && check.paid === true
        ? finding('skipped', 'already_blocked', 'Skipped: an earlier check blocked the call.')
        : check.decide(request, facts, now)
    const made: Check = { type, code: found.outcome === 'block' ? check.code : null, ...found }
    checks.push(made)
    if (made.outcome === 'block') deciding ??= made
  }
  if (deciding === null) return { allow: true, checks }
  const nextAllowedAt = firstAllowed(request, facts, checks)
  return { allow: false, code: CHECKS[deciding.type].code, deciding, nextAllowedAt, checks }
}

const UNDECIDED: readonly string[] = [ASKED_LATER, REGISTER_UNKNOWN, NO_CALLER_ID]

/**
 * Returns the types of the checks that could not be made and do not refuse: the answer of the register or the caller
 * ID is missing. A call is always decided with both.
 */
export function undecidedChecks(checks: readonly Check[]): readonly CheckType[] {
  return checks
    .filter(({ outcome, reason }) => outcome !== 'block' && UNDECIDED.includes(reason))
    .map(({ type }) => type)
}

/** The codes with which the gate refuses a call, without the one for numbers that the request schema refuses. */
export const BLOCK_CODES: readonly Exclude<BlockCode, 'validation_error'>[] = [
  ...new Set(CHECK_TYPES.map((type) => CHECKS[type].code)),
].filter((code) => code !== 'validation_error')

/** A wait can end outside the calling hours, and the hours can open on a day with other rules. */
const MAX_WAITS = 5

/**
 * Returns the first time known at which nothing blocks the call any longer (Unix ms), or null when a block does not
 * expire. Checks that cost money are asked again when the time has come.
 */
function firstAllowed(request: GateRequest, facts: GateFacts, made: readonly Check[]): number | null {
  let at = latest(made)
  for (let wait = 0; at !== null && wait < MAX_WAITS; wait++) {
    const then = at
    const checks = made.flatMap(({ type, outcome }) =>
      outcome === 'skipped' || CHECKS[type].paid === true ? [] : CHECKS[type].decide(request, facts, then),
    )
    if (!checks.some(({ outcome }) => outcome === 'block')) return then
    at = latest(checks)
  }
  return null
}

/** Returns the time at which all blocks have passed (Unix ms), or null when one of them does not expire. */
function latest(checks: readonly Finding[]): number | null {
  let at = 0
  for (const check of checks) {
    if (check.outcome !== 'block') continue
    if (check.nextAllowedAt === null) return null
    at = Math.max(at, check.nextAllowedAt)
  }
  return at
}
