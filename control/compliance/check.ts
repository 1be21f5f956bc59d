import type { Policy } from '../config/policy-file.js'
import type { Purpose, WindowNarrowing } from './calling-hours.js'
import type { NumberClass } from './numbering.js'

/*
 * The words of the gate: what is asked, what is known, and what a check answers. Facts are plain JSON and hold no
 * telephone number of a person, so that a sealed copy of them can be decided again.
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

export const GATE_TRIGGERS = [
  'call',
  'campaign',
  'preflight',
  'manual',
  'origination',
  'byo',
  'transfer',
  'forward',
  'verification',
  'callback',
] as const
export type GateTrigger = (typeof GATE_TRIGGERS)[number]

export type CheckOutcome = 'pass' | 'warn' | 'block' | 'skipped'
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
  /** Set for calls of a campaign. */
  readonly campaignId?: string | null
  readonly recipientId?: string | null
}

/** An active entry of the do-not-call list. */
export interface SuppressionFact {
  /** Null if the entry belongs to the other environment, whose entries the caller may not read. */
  readonly id: string | null
  readonly source: string
  /** Unix ms. Null if the entry does not expire. */
  readonly expiresAt: number | null
}

/** The current consent for the purpose of the call. It may have expired. */
export interface ConsentFact {
  readonly id: string
  readonly kind: string
  readonly source: string
  readonly capturedAt: number
  readonly expiresAt: number | null
}

/** Answer of the DND register. */
export interface RegisterFact {
  readonly state: 'listed' | 'not_listed' | 'unknown'
  /** Adapter that answered. */
  readonly register: string
  readonly category: string | null
  /** The register's own reference of the scrub, or null. */
  readonly reference: string | null
  readonly checkedAt: number
  readonly validUntil: number
}

/** A robocall declaration that is not withdrawn. */
export interface DeclarationFact {
  readonly id: string
  readonly reference: string
  /** ISO date (IST). */
  readonly effectiveFrom: string
  /** True if the declaration names the caller ID of this call. */
  readonly namesCallerId: boolean
}

/** Facts that the checks may use. To add a check, add its facts here and its file to `checks/`. */
export interface GateFacts {
  readonly policyVersion: string
  readonly policy: Policy
  /** Class of the called number. */
  readonly number: Omit<NumberClass, 'e164'> & { readonly lineType?: string }
  readonly suppressions: readonly SuppressionFact[]
  /** The operator's block of this organization. */
  readonly enforcement: { readonly blocked: boolean; readonly reason: string | null }
  /** State of the organization's verification. */
  readonly verification: string
  /** The organization's own calling hours. */
  readonly windowNarrowing: WindowNarrowing | null
  readonly consent: ConsentFact | null
  /** Null if the register was not asked. */
  readonly register: RegisterFact | null
  /** `later` for a question about a day to come: the register cannot be asked about it yet. */
  readonly registerDay?: 'today' | 'later'
  /** `unknown` for a question without a caller ID. A call always has one. */
  readonly callerId?: 'unknown'
  /** Unix ms at which a person last answered another capped campaign of the organization. */
  readonly lastCampaignAnswerAt: number | null
  readonly robocallMode: string
  readonly declarations: readonly DeclarationFact[]
  readonly sender: {
    /** Series of the caller ID: `regular`, or a prefix of the policy. */
    readonly series: string
    readonly peId: string | null
    /** The approved sender ID with this caller ID. */
    readonly approved: { readonly id: string; readonly dltHeaderId: string } | null
  }
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

export type Finding = Omit<Check, 'type' | 'code'>

/** Reason of a check of the caller ID, in the answer to a question without one. */
export const NO_CALLER_ID = 'no_caller_id'
/** Reason of the register check in the answer to a question about a day to come. */
export const ASKED_LATER = 'asked_later'
/** Reason of the register check when the register gave no answer. */
export const REGISTER_UNKNOWN = 'register_unknown'

/** One rule of the gate. It is pure: the facts were read before. */
export interface GateCheck {
  readonly type: CheckType
  /** Error code of a call that the check blocks. */
  readonly code: BlockCode
  /** True if its facts cost money. The check is skipped once another check has blocked. */
  readonly paid?: true
  decide(request: GateRequest, facts: GateFacts, now: number): Finding
}

/** Returns a finding. `more` adds the source, details and the next allowed time. */
export function finding(
  outcome: CheckOutcome,
  reason: string,
  message: string,
  more: Partial<Pick<Finding, 'source' | 'details' | 'nextAllowedAt'>> = {},
): Finding {
  return { outcome, reason, message, source: null, details: {}, nextAllowedAt: null, ...more }
}
