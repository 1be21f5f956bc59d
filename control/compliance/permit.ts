import type { Clock } from '../../media/base/clock.js'
import type { DialGate, Permit } from '../../signalling/sip/dial-gate.js'
import type { PermitIssuer } from '../api/deps.js'

/** Issues permits to the gate and takes them back when signalling dials. */
export type PermitBook = DialGate & PermitIssuer

type MayDial = Parameters<PermitIssuer['issue']>[1]

/** Lifetime of an unclaimed permit (ms). A dial starts within milliseconds of its gate. */
export const PERMIT_LIFE_MS = 10_000

/**
 * Opens a book of permits. A permit is genuine by object identity: a copy, a cast or a forged literal cannot be
 * claimed, and neither can a claimed permit. Between the decision and the INVITE the call is stored and its ports are
 * bound, so `spend` decides again at its own time, and `allows` before a repeated INVITE.
 */
export function openPermitBook(clock: Pick<Clock, 'wall'>): PermitBook {
  const unclaimed = new WeakMap<Permit, MayDial>()
  const claimed = new WeakMap<Permit, MayDial>()
  const spent = new WeakMap<Permit, MayDial>()
  return {
    issue({ recordId, callId, to, from }, mayDial) {
      const expiresAt = clock.wall() + PERMIT_LIFE_MS
      const permit = Object.freeze({ recordId, callId, to, from, expiresAt }) as Permit
      unclaimed.set(permit, mayDial)
      return permit
    },
    claim(permit) {
      const mayDial = unclaimed.get(permit)
      // Deleted first, so that an expired permit counts as claimed.
      unclaimed.delete(permit)
      if (mayDial === undefined || permit.expiresAt <= clock.wall()) return false
      claimed.set(permit, mayDial)
      return true
    },
    spend(permit) {
      const mayDial = claimed.get(permit)
      if (mayDial === undefined) return 'unclaimed'
      claimed.delete(permit)
      if (!mayDial(clock.wall())) return 'lapsed'
      spent.set(permit, mayDial)
      return 'spent'
    },
    allows: (permit) => spent.get(permit)?.(clock.wall()) === true,
  }
}
