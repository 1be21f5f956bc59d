import { FRAME_MS, type SessionRate } from './frame.js'

const START_TARGET_MS = 40
const MIN_TARGET_MS = 20
const MAX_TARGET_MS = 120
/** The target shrinks by at most one frame in 2 s, and only while nobody speaks. */
const SHRINK_EVERY_FRAMES = 100
/** The delay may leave the target by this much before sound is inserted, or dropped in silence. */
const SHORT_BY_MS = 10
const LONG_BY_MS = FRAME_MS + 10
/** Concealment repeats the last frame, fading to nothing over these frames. */
const CONCEAL_FRAMES = 3
/** Below about -50 dBFS a frame counts as silence. */
const SILENT_POWER = 100 * 100

/**
 * Reorders and evens out one RTP stream for playing on the beat. Timestamps address a ring of
 * samples, allocated once, so that order, duplicates and packet size do not matter. No clock and no
 * socket inside: all values are samples of the session's rate, `nowTs` being the place in the stream that
 * an undelayed packet would have now.
 */
export class JitterBuffer {
  /** Packets of which nothing could be played any more. */
  late = 0
  /** Frames made up because their packets were missing. */
  concealed = 0
  readonly #perMs: number
  readonly #frame: number
  /** About a second: a burst after a stall fits. A power of two: places are found without a division. */
  readonly #size: number
  readonly #mask: number
  readonly #minTarget: number
  readonly #maxTarget: number
  readonly #shortBy: number
  readonly #longBy: number
  readonly #pcm: Int16Array
  readonly #valid: Uint8Array
  readonly #last: Int16Array
  #play = 0
  #state: 'empty' | 'filling' | 'playing' = 'empty'
  #target: number
  #mean = 0
  #variance = 0
  #missing = CONCEAL_FRAMES
  #sinceShrink = 0

  constructor(rate: SessionRate = 8000) {
    const perMs = rate / 1000
    this.#perMs = perMs
    this.#frame = perMs * FRAME_MS
    this.#size = perMs * 1024
    this.#mask = this.#size - 1
    this.#minTarget = perMs * MIN_TARGET_MS
    this.#maxTarget = perMs * MAX_TARGET_MS
    this.#shortBy = perMs * SHORT_BY_MS
    this.#longBy = perMs * LONG_BY_MS
    this.#target = perMs * START_TARGET_MS
    this.#pcm = new Int16Array(this.#size)
    this.#valid = new Uint8Array(this.#size)
    this.#last = new Int16Array(this.#frame)
  }

  /** Wanted delay between an undelayed packet and its playing, in ms. */
  get targetMs(): number {
    return this.#target / this.#perMs
  }

  /** Takes the samples of a packet; true unless it came too late. */
  put(ts: number, pcm: Int16Array, length: number, nowTs: number): boolean {
    this.#measure(Math.max(0, nowTs - ts))
    if (this.#state === 'empty') {
      this.#state = 'filling'
      this.#play = ts
    } else if (this.#state === 'filling' && ts < this.#play && this.#play - ts < this.#maxTarget) {
      this.#play = ts
    }
    // Half a ring ahead is a stream that jumped: play from there.
    if (ts + length - this.#play > this.#size) {
      this.flush()
      this.#state = 'filling'
      this.#play = ts
    }
    const skip = Math.max(0, this.#play - ts)
    if (skip >= length) {
      this.late++
      return false
    }
    const ring = this.#pcm
    const valid = this.#valid
    let index = (ts + skip) & this.#mask
    for (let i = skip; i < length; i++) {
      ring[index] = pcm[i] as number
      valid[index] = 1
      index = (index + 1) & this.#mask
    }
    return true
  }

  /** The next 20 ms; false (and zeros) when there is nothing to play. */
  pull(into: Int16Array, nowTs: number): boolean {
    if (this.#state !== 'playing') {
      if (this.#state === 'empty' || nowTs - this.#play < this.#target) {
        into.fill(0)
        return false
      }
      this.#state = 'playing'
    }
    this.#sinceShrink++
    const delay = nowTs - this.#play
    if (delay < this.#target - this.#shortBy) return this.#conceal(into)
    const silent = this.#silentAhead()
    if (delay > this.#target + this.#maxTarget) this.#drop(delay - this.#target)
    else if (silent && delay > this.#target + this.#longBy) this.#drop(this.#frame)
    if (silent && this.#sinceShrink >= SHRINK_EVERY_FRAMES) this.#shrink()
    return this.#read(into)
  }

  /** Forgets what it holds; the learned target stays. */
  flush(): void {
    this.#state = 'empty'
    this.#valid.fill(0)
    this.#missing = CONCEAL_FRAMES
  }

  // Mean + 4 sigma of the delay, averaged over about 32 packets, plus the packet itself: grows at once.
  #measure(late: number): void {
    const delay = Math.min(late, 2 * this.#maxTarget)
    const diff = delay - this.#mean
    this.#mean += diff / 32
    this.#variance += (diff * diff - this.#variance) / 32
    const wanted = this.#wanted()
    if (wanted > this.#target) this.#target = wanted
  }

  #wanted(): number {
    const wanted = this.#minTarget + Math.ceil(this.#mean + 4 * Math.sqrt(this.#variance))
    return Math.min(this.#maxTarget, wanted)
  }

  #shrink(): void {
    this.#sinceShrink = 0
    this.#target = Math.max(this.#wanted(), this.#target - this.#frame)
  }

  #silentAhead(): boolean {
    const ring = this.#pcm
    const valid = this.#valid
    const limit = SILENT_POWER * this.#frame
    let sum = 0
    let index = this.#play & this.#mask
    for (let i = 0; i < this.#frame && sum < limit; i++) {
      const sample = ring[index] as number
      if (valid[index] === 1) sum += sample * sample
      index = (index + 1) & this.#mask
    }
    return sum < limit
  }

  #drop(samples: number): void {
    const count = Math.min(samples, this.#size)
    const from = this.#play & this.#mask
    this.#valid.fill(0, from, Math.min(this.#size, from + count))
    if (from + count > this.#size) this.#valid.fill(0, 0, from + count - this.#size)
    this.#play += samples
  }

  #read(into: Int16Array): boolean {
    const ring = this.#pcm
    const valid = this.#valid
    const last = this.#last
    let found = 0
    let index = this.#play & this.#mask
    for (let i = 0; i < this.#frame; i++) {
      found += valid[index] as number
      index = (index + 1) & this.#mask
    }
    if (found === 0) {
      this.#play += this.#frame
      return this.#conceal(into)
    }
    index = this.#play & this.#mask
    for (let i = 0; i < this.#frame; i++) {
      // A piece that is missing inside a frame is patched from the frame before it.
      into[i] = (valid[index] === 1 ? ring[index] : (last[i] as number) / 2) as number
      valid[index] = 0
      index = (index + 1) & this.#mask
    }
    this.#play += this.#frame
    last.set(into)
    this.#missing = 0
    return true
  }

  #conceal(into: Int16Array): boolean {
    if (this.#missing >= CONCEAL_FRAMES) {
      into.fill(0)
      return false
    }
    const span = CONCEAL_FRAMES * this.#frame
    const done = this.#missing * this.#frame
    for (let i = 0; i < this.#frame; i++) {
      into[i] = ((this.#last[i] as number) * (span - done - i)) / span
    }
    this.#missing++
    this.concealed++
    return true
  }
}
