/** A period must be better by this than half of it, which is as good in a steady sound. */
const MUCH_BETTER = 0.01

/** Finds where a wave repeats itself. One per user: results are fields, so that nothing is allocated. */
export class PitchFinder {
  /** Of the last search: the distance at which the window is found again. */
  lag = 0
  /** Normalised correlation there, 0 (or worse) to 1. */
  score = 0
  readonly #coarse: number

  /** `rate` decides how coarse the first look may be: speech repeats below 2 kHz. */
  constructor(rate: number) {
    this.#coarse = Math.max(1, Math.round(rate / 4000))
  }

  /**
   * Compares `wave[at..at + length)` with the same window `lag` samples later (`direction` 1) or earlier
   * (-1), for every lag in `shortest..longest`, both inclusive; all of it must lie inside `wave`. First
   * coarsely, then exactly around the best. Of equals the shortest wins.
   */
  search(
    wave: Int16Array,
    at: number,
    length: number,
    direction: 1 | -1,
    shortest: number,
    longest: number,
  ): void {
    const step = this.#coarse
    this.lag = shortest
    this.score = -1
    for (let lag = shortest; lag <= longest; lag += step) {
      this.#compare(wave, at, length, direction, lag, step, MUCH_BETTER)
    }
    if (step === 1) return
    const first = Math.max(shortest, this.lag - step)
    const last = Math.min(longest, this.lag + step)
    this.score = -1
    for (let lag = first; lag <= last; lag++) this.#compare(wave, at, length, direction, lag, 1, 0)
  }

  #compare(
    wave: Int16Array,
    at: number,
    length: number,
    direction: 1 | -1,
    lag: number,
    step: number,
    by: number,
  ): void {
    let product = 0
    let fixed = 1
    let moved = 1
    const other = at + direction * lag
    for (let i = 0; i < length; i += step) {
      const a = wave[at + i] as number
      const b = wave[other + i] as number
      product += a * b
      fixed += a * a
      moved += b * b
    }
    const score = product / Math.sqrt(fixed * moved)
    if (score <= this.score + (lag > this.lag + 2 * step ? by : 0)) return
    this.score = score
    this.lag = lag
  }
}
