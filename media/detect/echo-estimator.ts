import type { SessionRate } from '../base/frame.js'

/*
 * Our own speech in what we hear: a speakerphone, a hybrid, a bad headset. It is found by how alike the
 * loudness of both is, 10 ms by 10 ms, at each delay: whatever the far side's codec does to the
 * waveform, its envelope stays. Covariances fade over two seconds, so that each block costs the same
 * few hundred additions, whatever the delay is.
 */

const BLOCK_MS = 10
const BLOCKS = 2
/** Longest echo: two mobile networks and their buffers. */
const MAX_LAG = 80
/** Blocks of sent loudness that are kept: the longest delay, the tail behind it, and a stall. */
const RING = 256
/** As in the voice detector: rumble is no speech, and gains are compared with its powers. */
const HIGH_PASS_HERTZ = 250
/** What was sent is softer than this: nothing of it comes back. */
const ACTIVE_POWER = 32768 ** 2 * 10 ** -4.8
/**
 * Compared is how loudness changes, against its mean of the last 80 ms: that both are silent and then
 * loud is no likeness.
 */
const MEAN_SHARE = 1 / 8
/** Changes must be spread over this many blocks: one beginning that fits another proves nothing. */
const MIN_SPREAD = 20
/** Forgetting, per block in which we were heard. */
const KEEP = 1 - 1 / 200
/** Blocks of our speech before anything is believed. */
const MIN_WEIGHT = 35
/** Two voices that talk at once are alike by chance, at the best of 80 delays: in a second up to 0.9 ... */
const FOUND_EARLY = 0.93
/** ... and in two up to 0.75; an echo is by 0.95 and more. */
const FOUND = 0.82
const EARLY_WEIGHT = 120
/**
 * Where jitter and pauses leave less likeness, a delay that stays the best for four seconds of our speech
 * is the echo's: of 150 callers who talk over 26 s of it none has one.
 */
const PERSISTENT = 0.45
const PERSISTENT_LOOKS = 100
/** A known echo has moved to another delay when that is this much more alike. */
const MOVED = 0.42
const MOVED_BY = 0.05
const MOVE_KEEP = 0.3
/** Of the loudness it had before, in a look: half of it is gone in a second. */
const HELD_FADE = 0.97
/** ... what was found stays believed above this, ... */
const KEPT = 0.35
/** ... when the same delay was the best one so many looks in a row. */
const SAME_LOOKS = 4
const LOOK_BLOCKS = 4
/** A speakerphone is softer than what it was sent; what is not is a talker. */
const MAX_GAIN = 0.8
/** Loudness that an echo explains: 6 dB above what is expected, for its peaks. */
const MARGIN = 4
/** Blocks around the delay that count: jitter of both networks before, the room's tail after it. */
const EARLY_BLOCKS = 4
const LATE_BLOCKS = 4
const TAIL_BLOCKS = 12
/** The tail of a room with an RT60 of 300 ms falls by 2 dB in a block. */
const TAIL_FALL = 10 ** -0.2

/** Estimates the echo of one call. No allocation after its construction. */
export class EchoEstimator {
  /** Power (high-passed, mean square) up to which the last heard frame is our own echo; 0: no echo. */
  echoPower = 0
  /** High-passed power of the last heard frame: of its louder half. */
  power = 0
  /** Of the echo that is believed in; null when there is none. */
  delayMs: number | null = null
  gain = 0
  readonly #samples: number
  readonly #pole: number
  // High-pass filters of what is sent and heard.
  #sentIn = 0
  #sentOut = 0
  #heardIn = 0
  #heardOut = 0
  /** Loudness (root of power) of sent blocks by their number, and which number that is. */
  readonly #sent = new Float64Array(RING)
  readonly #numbers = new Float64Array(RING).fill(-1)
  /** Of the same blocks: loudness against its mean. */
  readonly #changes = new Float64Array(RING)
  #sentMean = 0
  #heardMean = 0
  readonly #sumXX = new Float64Array(MAX_LAG + 1)
  readonly #sumXY = new Float64Array(MAX_LAG + 1)
  #sumYY = 0
  #sumAbsY = 0
  #weight = 0
  #activeUntil = -1
  #blocks = 0
  #candidate = -1
  #looks = 0
  #lag = -1
  #heldGain = 0

  constructor(rate: SessionRate) {
    this.#samples = (rate / 1000) * BLOCK_MS
    this.#pole = Math.exp((-2 * Math.PI * HIGH_PASS_HERTZ) / rate)
  }

  /** 20 ms that leave at session time `atMs`. Silence need not be told. */
  processSent(pcm: Int16Array, atMs: number): void {
    const first = Math.round(atMs / BLOCK_MS)
    const samples = this.#samples
    for (let b = 0; b < BLOCKS; b++) {
      let sum = 0
      let input = this.#sentIn
      let output = this.#sentOut
      for (let i = b * samples; i < (b + 1) * samples; i++) {
        const sample = pcm[i] as number
        output = sample - input + this.#pole * output
        input = sample
        sum += output * output
      }
      this.#sentIn = input
      this.#sentOut = output
      const power = sum / samples
      const slot = (first + b) % RING
      const loudness = Math.sqrt(power)
      // After silence that was not told the mean is that silence.
      if (this.#numbers[(slot + RING - 1) % RING] !== first + b - 1) this.#sentMean = 0
      this.#sent[slot] = loudness
      this.#numbers[slot] = first + b
      this.#changes[slot] = loudness - this.#sentMean
      this.#sentMean += MEAN_SHARE * (loudness - this.#sentMean)
      if (power > ACTIVE_POWER) this.#activeUntil = first + b + MAX_LAG
    }
  }

  /** 20 ms that were heard, spoken at session time `atMs`: sets `explained`. */
  processReceived(pcm: Int16Array, atMs: number): void {
    const first = Math.round(atMs / BLOCK_MS)
    const samples = this.#samples
    this.power = 0
    this.echoPower = 0
    for (let b = 0; b < BLOCKS; b++) {
      let sum = 0
      let input = this.#heardIn
      let output = this.#heardOut
      for (let i = b * samples; i < (b + 1) * samples; i++) {
        const sample = pcm[i] as number
        output = sample - input + this.#pole * output
        input = sample
        sum += output * output
      }
      this.#heardIn = input
      this.#heardOut = output
      const power = sum / samples
      if (power > this.power) this.power = power
      const number = first + b
      const loudness = Math.sqrt(power)
      const change = loudness - this.#heardMean
      this.#heardMean += MEAN_SHARE * change
      if (number < 0 || number > this.#activeUntil) continue
      this.#learn(number, change)
      const echoPower = this.#echoPowerAt(number)
      if (echoPower > this.echoPower) this.echoPower = echoPower
    }
  }

  /** Whether the last heard frame holds nothing but our own speech. */
  get isOnlyEcho(): boolean {
    return this.power <= this.echoPower
  }

  #at(number: number): number {
    const slot = number % RING
    return number >= 0 && this.#numbers[slot] === number ? (this.#sent[slot] as number) : 0
  }

  #learn(number: number, y: number): void {
    this.#weight = this.#weight * KEEP + 1
    this.#sumYY = this.#sumYY * KEEP + y * y
    this.#sumAbsY = this.#sumAbsY * KEEP + Math.abs(y)
    const changes = this.#changes
    const numbers = this.#numbers
    const sumXX = this.#sumXX
    const sumXY = this.#sumXY
    for (let lag = 0; lag <= MAX_LAG; lag++) {
      const then = number - lag
      const slot = then % RING
      const x = then >= 0 && numbers[slot] === then ? (changes[slot] as number) : 0
      sumXX[lag] = (sumXX[lag] as number) * KEEP + x * x
      sumXY[lag] = (sumXY[lag] as number) * KEEP + x * y
    }
    if (++this.#blocks % LOOK_BLOCKS === 0 && this.#weight >= MIN_WEIGHT) this.#searchDelay()
  }

  /** Which delay fits best, and whether to believe it. */
  #searchDelay(): void {
    let best = -1
    let most = 0
    for (let lag = 0; lag <= MAX_LAG; lag++) {
      const likeness = this.#correlation(lag)
      if (likeness > most) {
        most = likeness
        best = lag
      }
    }
    this.#looks = best !== -1 && Math.abs(best - this.#candidate) <= 1 ? this.#looks + 1 : 1
    this.#candidate = best
    const needed = this.#weight < EARLY_WEIGHT ? FOUND_EARLY : FOUND
    const spread = this.#sumYY === 0 ? 0 : this.#sumAbsY ** 2 / this.#sumYY
    const steady = spread >= MIN_SPREAD && this.#looks >= SAME_LOOKS
    // One that is known may move: the far side's buffer grows and shrinks with its network.
    const moved = this.#lag !== -1 && most >= MOVED && most > this.#correlation(this.#lag) + MOVED_BY
    const persistent = this.#looks >= PERSISTENT_LOOKS && most >= PERSISTENT
    if (steady && (most >= needed || moved || persistent)) {
      if (moved && Math.abs(best - this.#lag) > 1) this.#discountHistory()
      this.#lag = best
    }
    if (this.#lag === -1) return
    this.#heldGain *= HELD_FADE
    const gain = Math.max(this.#gainAt(this.#lag), this.#heldGain)
    if (this.#correlation(this.#lag) < KEPT || gain > MAX_GAIN) {
      this.#lag = -1
      this.#heldGain = 0
      this.delayMs = null
      this.gain = 0
      return
    }
    this.delayMs = this.#lag * BLOCK_MS
    this.gain = gain
  }

  /** What was learned at the old delay counts little at the new one; the loudness is the same. */
  #discountHistory(): void {
    this.#heldGain = this.gain
    this.#weight *= MOVE_KEEP
    this.#sumYY *= MOVE_KEEP
    this.#sumAbsY *= MOVE_KEEP
    for (let lag = 0; lag <= MAX_LAG; lag++) {
      this.#sumXX[lag] = (this.#sumXX[lag] as number) * MOVE_KEEP
      this.#sumXY[lag] = (this.#sumXY[lag] as number) * MOVE_KEEP
    }
  }

  #correlation(lag: number): number {
    const both = (this.#sumXX[lag] as number) * this.#sumYY
    return both <= 0 ? 0 : (this.#sumXY[lag] as number) / Math.sqrt(both)
  }

  #gainAt(lag: number): number {
    const isOnlyEcho = this.#sumXX[lag] as number
    return isOnlyEcho <= 0 ? 0 : (this.#sumXY[lag] as number) / isOnlyEcho
  }

  #echoPowerAt(number: number): number {
    if (this.#lag === -1) return 0
    let most = 0
    let fall = 1
    for (let k = -EARLY_BLOCKS; k <= TAIL_BLOCKS; k++) {
      const x = this.#at(number - this.#lag - k)
      const power = x * x * fall
      if (power > most) most = power
      if (k >= LATE_BLOCKS) fall *= TAIL_FALL
    }
    return most * this.gain * this.gain * MARGIN
  }
}
