import type { TopupRow } from '../db/tables/payments.js'

/** Known facts of a top-up. Its status follows from these facts alone, in whatever order they became known. */
export interface TopupFacts {
  readonly paid: boolean
  /** The gateway reports failed payments and none that is in progress. */
  readonly declined: boolean
  readonly expired: boolean
  /** A dispute claims the money, or was lost. */
  readonly disputed: boolean
  readonly refundedPaise: number
  readonly payablePaise: number
}

export function topupStatus(facts: TopupFacts): TopupRow['status'] {
  const { paid, declined, expired, disputed, refundedPaise, payablePaise } = facts
  if (!paid) return declined ? 'failed' : expired ? 'expired' : 'created'
  if (disputed) return 'disputed'
  if (refundedPaise === 0) return 'paid'
  return refundedPaise < payablePaise ? 'partially_refunded' : 'refunded'
}
