import type { Clock } from '../../media/base/clock.js'
import type { DialGate, Permit } from '../../signalling/call/ports.js'
import type { PermitIssuer } from '../api/deps.js'

/** Issues permits to the gate and takes them back when signalling dials. */
export type PermitBook = DialGate & PermitIssuer

/** Lifetime of an unused permit (ms). A dial starts within milliseconds of its gate. */
export const PERMIT_LIFE_MS = 10_000

/**
 * Opens a book of permits. A permit is genuine by object identity: a copy, a cast or a forged literal cannot
 * be spent, and neither can a spent permit.
 */
export function openPermitBook(clock: Pick<Clock, 'wall'>): PermitBook {
  const unspent = new WeakSet<Permit>()
  return {
    issue({ callId, to, from }) {
      const permit = Object.freeze({ callId, to, from, expiresAt: clock.wall() + PERMIT_LIFE_MS }) as Permit
      unspent.add(permit)
      return permit
    },
    spend(permit) {
      // Deleted first, so that an expired permit counts as spent.
      return unspent.delete(permit) && permit.expiresAt > clock.wall()
    },
  }
}
