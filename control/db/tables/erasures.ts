/** Erasure of a person in one environment of an organization. */
export interface ErasureRow {
  readonly id: string
  readonly organizationId: string
  readonly environment: 'test' | 'live'
  /** Null once the erasure is done. */
  readonly e164: string | null
  readonly state: 'pending' | 'delayed' | 'done'
  /** Why it waits: `live_call`, `call_not_stored`, `payment_dispute`, `wallet_on_hold` or `legal_floor`. */
  readonly delayReason: string | null
  /** Unix ms at which the reason of the delay ends, if that is known. */
  readonly scheduledFor: number | null
  /** Calls and sealed records that were made anonymous so far. */
  readonly calls: number
  readonly records: number
  readonly createdAt: number
  readonly completedAt: number | null
}

export interface ErasureTables {
  erasures: ErasureRow
}
