import { FRAME_MS, type SessionRate } from '../base/frame.js'
import { PitchFinder } from './pitch-finder.js'

/** The pitch is searched between 66 and 400 Hz. */
const MIN_PERIOD_MS = 2.5
const MAX_PERIOD_MS = 15
/** Length of the last audio that is compared with earlier audio (ms). */
const MATCH_MS = 10
/** The loop repeats one pitch period for 10 ms, then two, then three: a single period would buzz. */
const GROW_MS = 10
const MAX_PERIODS = 3
/** Level at which noise continues. A steady voice continues at its own level. */
const LEAST_LEVEL = 0.5
/** Full level for 10 ms, then a linear fade to silence at 60 ms. */
const HOLD_MS = 10
const GONE_MS = 60
/** The fade back to received audio lasts a quarter period plus 0.4 of the gap, within these bounds. */
const MIN_FADE_MS = 4
const MAX_FADE_MS = 7.5
/** Length of the audio after a gap that is compared with the audio one period later (ms). */
const BACK_MATCH_MS = 6
/**
 * Synthesized audio before the end of a gap is stretched or compressed by at most this share, and only when
 * it then correlates with the audio after the gap by at least `IN_STEP`.
 */
const MAX_WARP = 1 / 12
const IN_STEP = 0.5
/** Fade over a discontinuity of the stream that has no gap (ms). */
const CUT_FADE_MS = 8

/**
 * Conceals packet loss in the manner of ITU-T G.711 Appendix I: the last pitch periods continue and fade, and
 * the audio after the gap is cross-faded with them. Unlike Appendix I it adds no delay: a decaying offset
 * removes the step at the start of a gap, and when the audio after the gap is already known, the gap is
 * filled from both sides. All audio that is played must pass through `played`, `conceal` or `interpolate`, in
 * order. Allocates nothing after construction.
 */
export class Concealer {
  readonly #perMs: number
  readonly #maxPeriod: number
  readonly #finder: PitchFinder
  readonly #history: Int16Array
  /** The history at the beginning of the gap. */
  readonly #pitchHistory: Int16Array
  /** Number of history samples that were played. */
  #historyLength = 0
  readonly #loop: Float32Array
  /** Synthesized audio that covers a gap and a margin, followed by the audio after the gap. */
  readonly #wave: Int16Array
  readonly #previousLoop: Float32Array
  #loopLength = 0
  #previousLoopLength = 0
  #loopPosition = 0
  #previousLoopPosition = 0
  #period = 0
  #quarter = 0
  #periods = 0
  /** Samples since the loop last grew. */
  #sinceGrown = 0
  /** Offset that makes the synthesized audio begin at the last received sample. */
  #step = 0
  /**
   * Level of the synthesized audio. It is lower for audio that is less periodic, because the guess is worse.
   */
  #level = 1
  /** Samples synthesized in this gap, including those under a cross-fade. */
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

  /** The next received samples will be changed by a cross-fade. */
  get fading(): boolean {
    return this.#concealing || this.#fadeDone < this.#fade
  }

  /**
   * Takes received samples `pcm[from..from + count)` that are about to be played. Changes them in place where
   * they follow a gap or a discontinuity.
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

  /**
   * Fills `into[from..from + count)`. Returns false when there is no history, or when the audio has faded to
   * silence.
   */
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
   * Conceals the last samples of a gap when `known` samples that follow it are in `after`: synthesizes from
   * both sides, so that the audio after the gap needs no change.
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

  /** Forgets all audio: what follows has nothing to do with it. */
  forget(): void {
    this.#historyLength = 0
    this.#concealing = false
    this.#fade = 0
    this.#fadeDone = 0
  }

  /** Cross-fades the next samples, because they do not continue the audio played last. */
  crossfadeNext(): void {
    if (!this.fading && this.#beginGap()) this.#startFade(CUT_FADE_MS * this.#perMs)
  }

  /**
   * Continues the last periods up to the end of the gap, stretched or compressed a little so that they end in
   * phase with the audio after it.
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

  /**
   * Returns the pitch period after the gap: near the one before it, and the same one when too few samples are
   * known.
   */
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
    this.#sinceGrown = this.#quarter // no previous loop to fade from
    return true
  }

  /** Adds a period to the loop and cross-fades its end into its beginning. */
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
    if (kept === pcm.length) history.set(pcm, size - kept)
    else for (let i = 0; i < kept; i++) history[size - kept + i] = pcm[source + i] as number
    this.#historyLength = Math.min(size, this.#historyLength + kept)
  }
}

function clip(value: number): number {
  return value > 32767 ? 32767 : value < -32768 ? -32768 : Math.round(value)
}
