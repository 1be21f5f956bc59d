/**
 * A longer period must beat a shorter one by this much: a multiple of the period correlates as well in a
 * steady tone.
 */
const MUCH_BETTER = 0.01

/**
 * Finds the period of a waveform by normalised correlation. Results are fields, so that a search allocates
 * nothing; each user needs an instance.
 */
export class PitchFinder {
  /** Result: the lag at which the window repeats (samples). */
  lag = 0
  /** Result: normalised correlation at `lag`, at most 1. */
  score = 0
  readonly #coarse: number

  /** @param rate decides the step of the coarse search: the periodic part of speech lies below 2 kHz. */
  constructor(rate: number) {
    this.#coarse = Math.max(1, Math.round(rate / 4000))
  }

  /**
   * Compares `wave[at..at + length)` with the window `lag` samples later (`direction` 1) or earlier (-1), for
   * every lag from `shortest` to `longest`. All samples must lie inside `wave`. A coarse search is refined
   * around its best lag. Of equal lags the shortest wins.
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
