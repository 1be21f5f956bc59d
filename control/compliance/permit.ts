import type { Clock } from '../../media/base/clock.js'
import type { DialGate, Permit } from '../../signalling/call/ports.js'
import type { PermitIssuer } from '../api/deps.js'

/** Issues permits to the gate and takes them back when signalling dials. */
export type PermitBook = DialGate & PermitIssuer

/** A dial starts within milliseconds of its gate; a permit still unused after this is stale. */
export const PERMIT_LIFE_MS = 10_000

/**
 * Issues and spends permits. Genuineness is identity: a permit is known by being this very object,
 * so a copy, a cast or a forged literal spends nothing, and spending twice fails.
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
      // Deleted first: an expired permit is as used up as a spent one.
      return unspent.delete(permit) && permit.expiresAt > clock.wall()
    },
  }
}
