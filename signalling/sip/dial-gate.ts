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

export interface DialGate {
  /** Claims a permit for a leg. Returns true once for each genuine, unexpired permit. */
  claim(permit: Permit): boolean
  /** Takes a claimed permit back. Returns true once; the INVITE is then sent. */
  spend(permit: Permit): boolean
}
