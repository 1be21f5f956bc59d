import type { Clock } from '../base/clock.js'

/** Waits that are remembered for each vendor and model. */
const WAITS = 60
/** A vendor that answered this often is known well enough to wait less for it. */
const WELL_KNOWN = 30
/** The longest waits that do not count: about five percent of a well-known vendor's, and one of another's. */
const OUTLIERS = 2
const FEW_OUTLIERS = 1
/** A deadline is this much longer than the longest usual wait. */
const MARGIN = 1.3
/** A wait without an answer would have been longer, by an unknown time. It counts double. */
const UNANSWERED = 2

/** How long one request waited (ms). */
export interface VendorWait {
  readonly key: string
  readonly waitedMs: number
}

/** The bounds of a deadline (ms). `usualMs` holds until enough is known. */
export interface DeadlineBounds {
  readonly leastMs: number
  readonly usualMs: number
  readonly mostMs: number
}

/** A request that waits for its first answer. Only the first call counts. */
export interface PendingWait {
  answered(): void
  /** Nothing arrived before the deadline. */
  timedOut(): void
}

/**
 * Learns from the waits of recent requests how long to wait for a vendor: a slow one gets more time, so that it is not
 * asked again and again, and one that is always quick is given up sooner. Keys are those of the circuit breakers; a
 * vendor id stands for one host as long as the process runs.
 */
export class LearntDeadlines {
  readonly #clock: Clock
  readonly #waits = new Map<string, number[]>()
  readonly #learnt: (wait: VendorWait) => void

  /** Reports every wait to `learnt`, but not those that `adopt` adds. */
  constructor(clock: Clock, learnt: (wait: VendorWait) => void = () => {}) {
    this.#clock = clock
    this.#learnt = learnt
  }

  /** Takes over the wait of another thread. */
  adopt({ key, waitedMs }: VendorWait): void {
    const waits = this.#waits.get(key) ?? []
    this.#waits.set(key, waits)
    waits.push(waitedMs)
    if (waits.length > WAITS) waits.shift()
  }

  /** Notes the begin of a request. */
  begin(key: string): PendingWait {
    let fromMs: number | null = this.#clock.now()
    const over = (weight: number) => {
      if (fromMs === null) return
      const wait = { key, waitedMs: (this.#clock.now() - fromMs) * weight }
      fromMs = null
      this.adopt(wait)
      this.#learnt(wait)
    }
    return { answered: () => over(1), timedOut: () => over(UNANSWERED) }
  }

  /** Returns how long to wait (ms). */
  of(key: string, { leastMs, usualMs, mostMs }: DeadlineBounds): number {
    const waits = this.#waits.get(key) ?? []
    const known = waits.length >= WELL_KNOWN
    const longest = waits.toSorted((a, b) => b - a)[known ? OUTLIERS : FEW_OUTLIERS]
    if (longest === undefined) return usualMs
    const floorMs = known ? leastMs : usualMs
    return Math.min(mostMs, Math.max(floorMs, Math.round(longest * MARGIN)))
  }
}
