/*
 * The next step of a purchase whose outcome is not known. The carrier is asked to sell once at most; after that
 * only its own list counts.
 */

export interface OpenPurchase {
  /** Time at which the carrier was asked to sell (Unix ms). Null if it was not asked. */
  readonly askedAt: number | null
  readonly createdAt: number
  /** Why the carrier took the order and sells later. Null if it did not say so. */
  readonly failureCode: string | null
}

/** Answer of the carrier's list: the number is there, is not there, or the list cannot be read. */
export type Finding = 'owned' | 'absent' | 'unreadable'

export type PurchaseStep =
  | { readonly type: 'activate' }
  | { readonly type: 'fail' }
  | { readonly type: 'wait'; readonly until: number }

/** Times of the look-ups after the request to the carrier (ms). */
const LOOK_UPS = [5_000, 30_000, 120_000] as const
const LAST_LOOK_UP = 120_000
/** A purchase whose client went away before the carrier was asked ends after this time (ms). */
const ABANDONED_MS = 60_000
/** An order that waits for documents may still be carried out for this time (ms), and is looked for this often. */
const ORDER_MS = 7 * 86_400_000
const ORDER_REREAD_MS = 3_600_000
/** An unreadable list is read again after this time (ms). */
const REREAD_MS = 60_000

/** Returns the next step of a purchase that is pending at `now`. */
export function nextStep(purchase: OpenPurchase, finding: Finding, now: number): PurchaseStep {
  const { askedAt, createdAt, failureCode } = purchase
  if (askedAt === null) {
    const until = createdAt + ABANDONED_MS
    return now >= until ? { type: 'fail' } : { type: 'wait', until }
  }
  if (finding === 'owned') return { type: 'activate' }
  const next = LOOK_UPS.map((after) => askedAt + after).find((at) => at > now)
  if (next !== undefined) return { type: 'wait', until: next }
  if (failureCode !== null && finding === 'absent' && now < askedAt + ORDER_MS)
    return { type: 'wait', until: now + ORDER_REREAD_MS }
  // The list must have been read after the last moment at which the carrier could still have sold.
  return finding === 'absent' && now >= askedAt + LAST_LOOK_UP
    ? { type: 'fail' }
    : { type: 'wait', until: now + REREAD_MS }
}
