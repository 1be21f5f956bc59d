import { EngineError } from '../../media/base/errors.js'

declare const permitBrand: unique symbol

/**
 * The right to dial one number once. Only `control/compliance/permit.ts` creates permits, after the gate's
 * sealed record is committed. The SIP server takes the permit back with the INVITE, so that neither a type cast nor
 * another path to the SIP server can dial.
 */
export interface Permit {
  readonly [permitBrand]: true
  /** Id of the sealed gate record that allows the call. */
  readonly recordId: string
  readonly callId: string
  readonly to: string
  readonly from: string
  /** Unix time (ms) after which the permit cannot be claimed. */
  readonly expiresAt: number
}

/**
 * Result of spending a permit. `spent`: the INVITE may be sent now. `lapsed`: the decision no longer allows the call
 * at this moment, for example because its calling hours have ended. `unclaimed`: the permit was not claimed, or was
 * spent before.
 */
export type Spending = 'spent' | 'lapsed' | 'unclaimed'

export interface DialGate {
  /** Claims a permit for a leg. Returns true once for each genuine, unexpired permit. */
  claim(permit: Permit): boolean
  /** Takes a claimed permit back immediately before its INVITE, and decides again at that time. */
  spend(permit: Permit): Spending
  /**
   * Tells whether the decision of a spent permit allows its INVITE now. Ask before the INVITE is repeated after a
   * challenge.
   */
  allows(permit: Permit): boolean
}

/** Returns the error of an INVITE whose permit could not be spent. */
export function permitRefusal(spending: Exclude<Spending, 'spent'>): EngineError {
  return spending === 'lapsed'
    ? new EngineError('permit_lapsed', 'the time at which the call was allowed ended before its INVITE')
    : new EngineError('permit_invalid', 'an INVITE requires a claimed permit')
}
