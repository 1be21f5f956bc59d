import type { Refusal } from '../api/problem.js'
import { parseInstant } from '../base/instant.js'
import type { PausedReason } from '../db/tables/campaigns.js'
import { PERSON_CHECKS } from './check-roles.js'
import type { ExcludedReason } from './view.js'

/** Consequence of a refused dial for its recipient and its campaign. */
export type RefusedDial =
  | { readonly kind: 'exclude'; readonly reason: ExcludedReason }
  /** The recipient waits until then (Unix ms); null if it may never be called in this campaign. */
  | { readonly kind: 'defer'; readonly until: number | null }
  | { readonly kind: 'pause'; readonly reason: PausedReason }
  /** Nothing is wrong with the recipient: another dial may succeed soon. */
  | { readonly kind: 'retry' }

/** Time until the DND register is asked again (ms). */
const REGISTER_PAUSE_MS = 3_600_000

/** The agent, the number or its trunk cannot call. */
const TARGET_UNAVAILABLE: RefusedDial = { kind: 'pause', reason: 'target_unavailable' }

/** Returns what the refusal of `dialCall` means. */
export function refusedDial({ code, details }: Refusal, now: number): RefusedDial {
  switch (code) {
    case 'missing_variables':
      return { kind: 'exclude', reason: 'missing_variables' }
    case 'validation_error':
      return { kind: 'exclude', reason: 'invalid_number' }
    case 'unprocessable_entity':
      return details?.reason === 'trunk_prefix'
        ? { kind: 'exclude', reason: 'trunk_prefix' }
        : TARGET_UNAVAILABLE
    case 'insufficient_funds':
      return isHeld(details ?? {}) ? { kind: 'retry' } : { kind: 'pause', reason: 'low_balance' }
    case 'concurrent_call_limit_reached':
    case 'internal_error':
    case 'provider_unavailable':
      return { kind: 'retry' }
    case 'blocked_dnd':
    case 'blocked_opt_out':
    case 'blocked_dlt_invalid':
      return blocked(details ?? {}, now)
    default:
      return TARGET_UNAVAILABLE
  }
}

/** Returns whether the balance covers the call but calls in progress hold a part of it. They end within minutes. */
function isHeld({ balancePaise, minBalancePaise, onHold }: Readonly<Record<string, unknown>>): boolean {
  return onHold !== true && Number(balancePaise) >= Number(minBalancePaise)
}

function blocked(details: Readonly<Record<string, unknown>>, now: number): RefusedDial {
  const { checkType, reason, nextAllowedAt } = details
  const until = typeof nextAllowedAt === 'string' ? parseInstant(nextAllowedAt) : null
  if (checkType === 'calling_window') return { kind: 'defer', until }
  if (checkType === 'dnd_register' && reason === 'register_unknown') {
    return { kind: 'defer', until: now + REGISTER_PAUSE_MS }
  }
  const found = PERSON_CHECKS.find(({ type }) => type === checkType)
  return found === undefined ? TARGET_UNAVAILABLE : { kind: 'exclude', reason: found.reason }
}
