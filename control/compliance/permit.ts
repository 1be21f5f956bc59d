import type { Clock } from '../../media/base/clock.js'
import type { DialGate, Permit } from '../../signalling/sip/dial-gate.js'
import type { PermitIssuer } from '../api/deps.js'

/** Issues permits to the gate and takes them back when signalling dials. */
export type PermitBook = DialGate & PermitIssuer

/** Lifetime of an unclaimed permit (ms). A dial starts within milliseconds of its gate. */
export const PERMIT_LIFE_MS = 10_000

/**
 * Opens a book of permits. A permit is genuine by object identity: a copy, a cast or a forged literal cannot
 * be claimed, and neither can a claimed permit.
 */
export function openPermitBook(clock: Pick<Clock, 'wall'>): PermitBook {
  const unclaimed = new WeakSet<Permit>()
  const claimed = new WeakSet<Permit>()
  return {
    issue({ recordId, callId, to, from }) {
      const expiresAt = clock.wall() + PERMIT_LIFE_MS
      const permit = Object.freeze({ recordId, callId, to, from, expiresAt }) as Permit
      unclaimed.add(permit)
      return permit
    },
    claim(permit) {
      // Deleted first, so that an expired permit counts as claimed.
      const valid = unclaimed.delete(permit) && permit.expiresAt > clock.wall()
      if (valid) claimed.add(permit)
      return valid
    },
    spend: (permit) => claimed.delete(permit),
  }
}
