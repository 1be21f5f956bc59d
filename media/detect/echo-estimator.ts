import type { SessionRate } from '../base/frame.js'

/*
 * Estimates the echo of the agent in the caller's audio (speakerphone, hybrid, bad headset). It correlates
 * the envelopes of sent and received audio in blocks of 10 ms at each delay, because codecs of the peer
 * change the waveform but not the envelope. Covariances decay over two seconds, so each block costs the same
 * few hundred additions at any delay.
 */

const BLOCK_MS = 10
const BLOCKS = 2
/** Longest echo delay (blocks): two mobile networks and their buffers. */
const MAX_LAG = 80
/** Blocks of sent loudness that are kept: the longest delay, the tail behind it and a stall. */
const RING = 256
/** As in the VAD: rumble is not speech, and gains are compared with VAD powers. */
const HIGH_PASS_HERTZ = 250
/** Sent audio below this power has no echo. */
const ACTIVE_POWER = 32768 ** 2 * 10 ** -4.8
/**
 * Changes of the loudness against its mean of the last 80 ms are compared. Joint silence and joint speech are
 * no evidence of an echo.
 */
const MEAN_SHARE = 1 / 8
/** Changes must be spread over this many blocks, because a single matching onset is no evidence. */
const MIN_SPREAD = 20
/** Decay per block with sent speech. */
const KEEP = 1 - 1 / 200
/** Blocks of sent speech before any decision. */
const MIN_WEIGHT = 35
/** At the best of 80 delays, two independent voices correlate by up to 0.9 within a second ... */
const FOUND_EARLY = 0.93
/** ... and by up to 0.75 within two. An echo correlates by 0.95 and more. */
const FOUND = 0.82
const EARLY_WEIGHT = 120
/**
 * Jitter and pauses lower the correlation. A delay that stays the best for four seconds of sent speech is an
 * echo even then; in a test of 150 callers who talk over 26 s of speech no such delay occurs.
 */
const PERSISTENT = 0.45
const PERSISTENT_LOOKS = 100
/** A known echo moved to another delay when the correlation there is this high, and higher by `MOVED_BY`. */
const MOVED = 0.42
const MOVED_BY = 0.05
const MOVE_KEEP = 0.3
/** Decay of the remembered gain per search: half of it is gone in a second. */
const HELD_FADE = 0.97
/** ... A known echo stays valid above this correlation. */
const KEPT = 0.35
/** ... The same delay must be the best in this many consecutive searches. */
const SAME_LOOKS = 4
const LOOK_BLOCKS = 4
/** An echo is softer than the sent audio. Louder audio is a talker. */
const MAX_GAIN = 0.8
/** The echo power is set 6 dB above the expected one, to cover its peaks. */
const MARGIN = 4
/** Blocks around the delay that count: network jitter before it, and the tail of the room after it. */
const EARLY_BLOCKS = 4
const LATE_BLOCKS = 4
const TAIL_BLOCKS = 12
/** The tail of a room with an RT60 of 300 ms decays by 2 dB per block. */
const TAIL_FALL = 10 ** -0.2

/** Estimates the echo of one call. Allocates nothing after construction. */
export class EchoEstimator {
  /** Power (high-passed mean square) up to which the last received frame is echo; 0 without echo. */
  echoPower = 0
  /** High-passed power of the louder half of the last received frame. */
  power = 0
  /** Delay of the detected echo (ms); null when there is none. */
  delayMs: number | null = null
  gain = 0
  readonly #samples: number
  readonly #pole: number
  // High-pass filters of sent and received audio.
  #sentIn = 0
  #sentOut = 0
  #heardIn = 0
  #heardOut = 0
  /** Loudness (root of power) of sent blocks in a ring, and the block number of each slot. */
  readonly #sent = new Float64Array(RING)
  readonly #numbers = new Float64Array(RING).fill(-1)
  /** Loudness of the same blocks relative to its mean. */
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

  /** Takes 20 ms that are sent at session time `atMs`. Silence may be omitted. */
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
      // After omitted silence the mean is zero.
      if (this.#numbers[(slot + RING - 1) % RING] !== first + b - 1) this.#sentMean = 0
      this.#sent[slot] = loudness
      this.#numbers[slot] = first + b
      this.#changes[slot] = loudness - this.#sentMean
      this.#sentMean += MEAN_SHARE * (loudness - this.#sentMean)
      if (power > ACTIVE_POWER) this.#activeUntil = first + b + MAX_LAG
    }
  }

  /** Takes 20 ms that were received, spoken at session time `atMs`, and sets `echoPower`. */
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

  /** True when the last received frame contains only echo. */
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

  /** Finds the delay with the best correlation and decides whether it is an echo. */
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
    // A known echo may move, because the peer's jitter buffer grows and shrinks.
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

  /** Statistics of the old delay count little at the new one. The gain stays the same. */
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
