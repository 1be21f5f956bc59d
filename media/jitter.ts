import { FRAME_MS } from './frame.js'

const RATE = 8000
const FRAME = (RATE / 1000) * FRAME_MS
/** About a second: a burst after a stall fits. A power of two: places are found without a division. */
const RING = 8192
const MASK = RING - 1
const START_TARGET = 40 * 8
const MIN_TARGET = 20 * 8
const MAX_TARGET = 120 * 8
/** The target shrinks by at most one frame in 2 s, and only while nobody speaks. */
const SHRINK_EVERY_FRAMES = 100
/** The delay may leave the target by this much before sound is inserted, or dropped in silence. */
const SHORT_BY = 80
const LONG_BY = FRAME + 80
/** Standing delay above target + cap is dropped even in speech. */
const FAR_TOO_LONG = MAX_TARGET
/** Concealment repeats the last frame, fading to nothing over these frames. */
const CONCEAL_FRAMES = 3
/** Below about -50 dBFS a frame counts as silence. */
const SILENT_POWER = 100 * 100

/**
 * Reorders and evens out one RTP stream for playing on the beat. Timestamps address a ring of
 * samples, allocated once, so that order, duplicates and packet size do not matter. No clock and no
 * socket inside: all values are samples of the 8 kHz RTP clock, `nowTs` being the timestamp that an
 * undelayed packet would carry now.
 */
export class JitterBuffer {
  /** Packets of which nothing could be played any more. */
  late = 0
  /** Frames made up because their packets were missing. */
  concealed = 0
  readonly #pcm = new Int16Array(RING)
  readonly #valid = new Uint8Array(RING)
  readonly #last = new Int16Array(FRAME)
  #play = 0
  #state: 'empty' | 'filling' | 'playing' = 'empty'
  #target = START_TARGET
  #mean = 0
  #variance = 0
  #missing = CONCEAL_FRAMES
  #sinceShrink = 0

  /** Wanted delay between an undelayed packet and its playing, in ms. */
  get targetMs(): number {
    return this.#target / 8
  }

  /** Takes the samples of a packet; true unless it came too late. */
  put(ts: number, pcm: Int16Array, length: number, nowTs: number): boolean {
    this.#measure(Math.max(0, nowTs - ts))
    if (this.#state === 'empty') {
      this.#state = 'filling'
      this.#play = ts
    } else if (this.#state === 'filling' && ts < this.#play && this.#play - ts < MAX_TARGET) {
      this.#play = ts
    }
    // Half a ring ahead is a stream that jumped: play from there.
    if (ts + length - this.#play > RING) {
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
    let index = (ts + skip) & MASK
    for (let i = skip; i < length; i++) {
      ring[index] = pcm[i] as number
      valid[index] = 1
      index = (index + 1) & MASK
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
    if (delay < this.#target - SHORT_BY) return this.#conceal(into)
    const silent = this.#silentAhead()
    if (delay > this.#target + FAR_TOO_LONG) this.#drop(delay - this.#target)
    else if (silent && delay > this.#target + LONG_BY) this.#drop(FRAME)
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
    const delay = Math.min(late, 2 * MAX_TARGET)
    const diff = delay - this.#mean
    this.#mean += diff / 32
    this.#variance += (diff * diff - this.#variance) / 32
    const wanted = this.#wanted()
    if (wanted > this.#target) this.#target = wanted
  }

  #wanted(): number {
    const wanted = MIN_TARGET + Math.ceil(this.#mean + 4 * Math.sqrt(this.#variance))
    return Math.min(MAX_TARGET, wanted)
  }

  #shrink(): void {
    this.#sinceShrink = 0
    this.#target = Math.max(this.#wanted(), this.#target - FRAME)
  }

  #silentAhead(): boolean {
    const ring = this.#pcm
    const valid = this.#valid
    const limit = SILENT_POWER * FRAME
    let sum = 0
    let index = this.#play & MASK
    for (let i = 0; i < FRAME && sum < limit; i++) {
      const sample = ring[index] as number
      if (valid[index] === 1) sum += sample * sample
      index = (index + 1) & MASK
    }
    return sum < limit
  }

  #drop(samples: number): void {
    const count = Math.min(samples, RING)
    const from = this.#play & MASK
    this.#valid.fill(0, from, Math.min(RING, from + count))
    if (from + count > RING) this.#valid.fill(0, 0, from + count - RING)
    this.#play += samples
  }

  #read(into: Int16Array): boolean {
    const ring = this.#pcm
    const valid = this.#valid
    const last = this.#last
    let found = 0
    let index = this.#play & MASK
    for (let i = 0; i < FRAME; i++) {
      found += valid[index] as number
      index = (index + 1) & MASK
    }
    if (found === 0) {
      this.#play += FRAME
      return this.#conceal(into)
    }
    index = this.#play & MASK
    for (let i = 0; i < FRAME; i++) {
      // A piece that is missing inside a frame is patched from the frame before it.
      into[i] = (valid[index] === 1 ? ring[index] : (last[i] as number) / 2) as number
      valid[index] = 0
      index = (index + 1) & MASK
    }
    this.#play += FRAME
    last.set(into)
    this.#missing = 0
    return true
  }

  #conceal(into: Int16Array): boolean {
    if (this.#missing >= CONCEAL_FRAMES) {
      into.fill(0)
      return false
    }
    const span = CONCEAL_FRAMES * FRAME
    const done = this.#missing * FRAME
    for (let i = 0; i < FRAME; i++) {
      into[i] = ((this.#last[i] as number) * (span - done - i)) / span
    }
    this.#missing++
    this.concealed++
    return true
  }
}
