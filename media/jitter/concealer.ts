import { FRAME_MS, type SessionRate } from '../base/frame.js'
import { PitchFinder } from './pitch-finder.js'

/** Pitch is looked for between 66 and 400 Hz. */
const MIN_PERIOD_MS = 2.5
const MAX_PERIOD_MS = 15
/** This much of the last sound is compared with what was before. */
const MATCH_MS = 10
/** One period is repeated for 10 ms, then two, then three: a single one would buzz. */
const GROW_MS = 10
const MAX_PERIODS = 3
/** Noise goes on at this level, a steady voice at its own. */
const LEAST_LEVEL = 0.5
/** Full level for 10 ms, then down in a line; nothing after 60 ms. */
const HOLD_MS = 10
const GONE_MS = 60
/** Coming back fades over a quarter period and 0.4 of the gap, within these. */
const MIN_FADE_MS = 4
const MAX_FADE_MS = 7.5
/** This much of what follows a gap is compared with what comes a period later. */
const BACK_MATCH_MS = 6
/** What leads up to it may be stretched or pressed by this share, and is when it comes out like it. */
const MAX_WARP = 1 / 12
const IN_STEP = 0.5
/** A jump in the stream, with no gap, fades over this. */
const CUT_FADE_MS = 8

/**
 * Makes up sound where packets are missing, in the manner of G.711 Appendix I: the last pitch periods go
 * on, fading, and what comes after the gap is cross-faded with them. Unlike there nothing is delayed: a
 * step where the made-up sound begins is taken out by an offset that dies away; and where what follows
 * is known already, the gap is filled from both sides and what follows is left as it is. Everything that
 * is played must pass through `good`, `conceal` or `bridge`, in order. Nothing is allocated after
 * construction.
 */
export class Concealer {
  readonly #perMs: number
  readonly #maxPeriod: number
  readonly #finder: PitchFinder
  readonly #history: Int16Array
  /** The history as it was at the beginning of the gap. */
  readonly #pitchHistory: Int16Array
  /** Samples of history that were really played. */
  #historyLength = 0
  readonly #loop: Float32Array
  /** A gap's worth of made-up sound and some more, then what follows the gap. */
  readonly #wave: Int16Array
  readonly #previousLoop: Float32Array
  #loopLength = 0
  #previousLoopLength = 0
  #loopPosition = 0
  #previousLoopPosition = 0
  #period = 0
  #quarter = 0
  #periods = 0
  /** Samples since the loop grew. */
  #sinceGrown = 0
  /** What the made-up sound must rise by to begin where the real one ended. */
  #step = 0
  /** Level of what is made up: lower, the less the sound repeats itself, for then it is a guess. */
  #level = 1
  /** Samples made up in this gap, those under a cross-fade included. */
  #synthesized = 0
  #concealing = false
  #fade = 0
  #fadeDone = 0

  constructor(rate: SessionRate) {
    this.#perMs = rate / 1000
    this.#maxPeriod = MAX_PERIOD_MS * this.#perMs
    this.#finder = new PitchFinder(rate)
    const longest = MAX_PERIODS * this.#maxPeriod
    this.#history = new Int16Array(longest + this.#maxPeriod / 2)
    this.#pitchHistory = new Int16Array(this.#history.length)
    this.#loop = new Float32Array(longest)
    this.#wave = new Int16Array(FRAME_MS * this.#perMs + this.#maxPeriod + 2 * BACK_MATCH_MS * this.#perMs)
    this.#previousLoop = new Float32Array(longest)
  }

  /** Whether the next good samples will be changed. */
  get fading(): boolean {
    return this.#concealing || this.#fadeDone < this.#fade
  }

  /**
   * Real samples, `pcm[from..from + count)`, about to be played: remembered, and changed in place where
   * they follow a gap or a cut.
   */
  played(pcm: Int16Array, from: number, count: number): void {
    if (this.#concealing) {
      this.#concealing = false
      const fadeMs = (this.#quarter + 0.4 * this.#synthesized) / this.#perMs
      this.#startFade(Math.min(MAX_FADE_MS, Math.max(MIN_FADE_MS, fadeMs)) * this.#perMs)
    }
    const end = from + count
    for (let i = from; i < end && this.#fadeDone < this.#fade; i++) {
      const weight = ++this.#fadeDone / (this.#fade + 1)
      pcm[i] = Math.round((pcm[i] as number) * weight + this.#nextSample() * (1 - weight))
    }
    this.#remember(pcm, from, count)
  }

  /** Fills `into[from..from + count)`; false when there is nothing to go on with, or it has faded away. */
  conceal(into: Int16Array, from: number, count: number): boolean {
    if (!this.#concealing && !this.#beginGap()) {
      into.fill(0, from, from + count)
      return false
    }
    const sounding = this.#synthesize(into, from, count)
    this.#remember(into, from, count)
    return sounding
  }

  /**
   * As `conceal`, for the last samples of a gap when `known` real ones that follow it are in `after`:
   * made up from both sides, so that those need no change.
   */
  interpolate(into: Int16Array, from: number, count: number, after: Int16Array, known: number): boolean {
    if (!this.#concealing && !this.#beginGap()) return this.conceal(into, from, count)
    const period = this.#periodOf(after, known)
    if (period >= known) return this.conceal(into, from, count)
    const forward = this.#forward(into, from, count, after)
    const step = (after[0] as number) - (after[period] as number)
    const quarter = period >> 2
    for (let back = 1; back <= count; back++) {
      const at = from + count - back
      let value = after[period - 1 - ((back - 1) % period)] as number
      if (back < quarter) value += step * (1 - back / quarter)
      const weight = 1 - back / (count + 1)
      into[at] = clip((forward ? (into[at] as number) : 0) * (1 - weight) + value * weight)
    }
    this.#concealing = false
    this.#fade = 0
    this.#remember(into, from, count)
    return true
  }

  /** What comes next does not follow what was played last: it is faded over. */
  crossfadeNext(): void {
    if (!this.fading && this.#beginGap()) this.#startFade(CUT_FADE_MS * this.#perMs)
  }

  /**
   * The last periods go on up to the end of the gap, stretched or pressed a little so that they come out in
   * step with what follows.
   */
  #forward(into: Int16Array, from: number, count: number, after: Int16Array): boolean {
    const match = BACK_MATCH_MS * this.#perMs
    const most = Math.floor(Math.min(this.#period / 2, count * MAX_WARP))
    const wave = this.#wave
    const length = count + most + match
    const sounding = this.#synthesize(wave, 0, length)
    for (let i = 0; i < match; i++) wave[length + i] = after[i] as number
    this.#finder.search(wave, length, match, -1, match, match + 2 * most)
    const ends = this.#finder.score < IN_STEP ? count : length - this.#finder.lag
    const pace = ends / count
    for (let i = 0; i < count; i++) {
      const at = Math.floor(i * pace)
      const part = i * pace - at
      into[from + i] = Math.round((wave[at] as number) * (1 - part) + (wave[at + 1] as number) * part)
    }
    return sounding
  }

  /** The pitch after the gap: near the one before it, and the same where too little is known. */
  #periodOf(after: Int16Array, known: number): number {
    const match = BACK_MATCH_MS * this.#perMs
    const shortest = Math.ceil(this.#period * 0.75)
    const longest = Math.min(Math.floor(this.#period * 1.33), known - match)
    if (longest <= this.#period) return this.#period
    this.#finder.search(after, 0, match, 1, shortest, longest)
    return this.#finder.lag
  }

  #synthesize(into: Int16Array, from: number, count: number): boolean {
    this.#concealing = true
    const sounding = this.#synthesized < GONE_MS * this.#perMs
    for (let i = from; i < from + count; i++) into[i] = clip(this.#nextSample())
    return sounding
  }

  #startFade(length: number): void {
    this.#fade = Math.round(length)
    this.#fadeDone = 0
  }

  #beginGap(): boolean {
    const history = this.#history
    const size = history.length
    const match = MATCH_MS * this.#perMs
    const shortest = MIN_PERIOD_MS * this.#perMs
    const longest = Math.min(this.#maxPeriod, this.#historyLength - match)
    if (longest < shortest) return false
    this.#finder.search(history, size - match, match, -1, shortest, longest)
    const period = this.#finder.lag
    this.#period = period
    this.#quarter = period >> 2
    this.#periods = 0
    this.#synthesized = 0
    this.#fade = 0
    this.#fadeDone = 0
    this.#pitchHistory.set(history)
    this.#level = LEAST_LEVEL + (1 - LEAST_LEVEL) * Math.max(0, this.#finder.score)
    this.#step = (history[size - 1] as number) - (history[size - 1 - period] as number)
    this.#grow()
    this.#loopPosition = 0
    this.#sinceGrown = this.#quarter // nothing before to fade from
    return true
  }

  /** One period more in the loop; its end leads into its beginning. */
  #grow(): void {
    const model = this.#pitchHistory
    const size = model.length
    const loop = this.#loop
    this.#previousLoop.set(loop)
    this.#previousLoopLength = this.#loopLength
    this.#previousLoopPosition = this.#loopPosition
    this.#periods++
    const length = this.#period * this.#periods
    const quarter = this.#quarter
    for (let i = 0; i < length; i++) loop[i] = model[size - length + i] as number
    for (let i = 0; i < quarter; i++) {
      const weight = (i + 1) / (quarter + 1)
      const end = length - quarter + i
      const before = model[size - length - quarter + i] as number
      loop[end] = (loop[end] as number) * (1 - weight) + before * weight
    }
    this.#loopLength = length
    this.#loopPosition %= this.#period
    this.#sinceGrown = 0
  }

  #nextSample(): number {
    const perMs = this.#perMs
    const made = this.#synthesized
    if (made >= GONE_MS * perMs) return 0
    if (made === this.#periods * GROW_MS * perMs && this.#mayGrow()) this.#grow()
    let value = this.#loop[this.#loopPosition] as number
    this.#loopPosition++
    if (this.#loopPosition === this.#loopLength) this.#loopPosition = 0
    if (this.#sinceGrown < this.#quarter) {
      const weight = ++this.#sinceGrown / (this.#quarter + 1)
      value = value * weight + (this.#previousLoop[this.#previousLoopPosition] as number) * (1 - weight)
      this.#previousLoopPosition++
      if (this.#previousLoopPosition === this.#previousLoopLength) this.#previousLoopPosition = 0
    }
    if (made < this.#quarter) {
      const early = 1 - made / this.#quarter
      value = (value + this.#step * early) * (this.#level + (1 - this.#level) * early)
    } else value *= this.#level
    this.#synthesized++
    const past = made - HOLD_MS * perMs
    return past <= 0 ? value : value * (1 - past / ((GONE_MS - HOLD_MS) * perMs))
  }

  #mayGrow(): boolean {
    const needed = (this.#periods + 1) * this.#period + this.#quarter
    return (
      this.#concealing &&
      this.#periods < MAX_PERIODS &&
      this.#pitchHistory.length >= needed &&
      this.#historyLength >= needed
    )
  }

  #remember(pcm: Int16Array, from: number, count: number): void {
    const history = this.#history
    const size = history.length
    const kept = Math.min(count, size)
    history.copyWithin(0, kept)
    const source = from + count - kept
    for (let i = 0; i < kept; i++) history[size - kept + i] = pcm[source + i] as number
    this.#historyLength = Math.min(size, this.#historyLength + kept)
  }
}

function clip(value: number): number {
  return value > 32767 ? 32767 : value < -32768 ? -32768 : Math.round(value)
}
