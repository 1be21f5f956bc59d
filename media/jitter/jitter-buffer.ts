import { FRAME_MS, type SessionRate } from '../base/frame.js'
import { Concealer } from './concealer.js'
import { DelayTarget } from './delay-target.js'
import { PitchFinder } from './pitch-finder.js'

/** About a second: a burst after a stall fits. A power of two: places are found without a division. */
const RING_AT_8K = 8192
/**
 * Periods are put in as soon as the delay is below its target, for then the next frame may run dry, but
 * left out only this much above it, which costs nothing but time.
 */
const TOO_LONG_MS = 12.5
/** Differing by this much, it is done in every frame, whether the sound repeats itself well or not. */
const URGENT_MS = 40
/** Standing delay above target + this is cut at once: beyond what a stall of 300 ms leaves. */
const FAR_TOO_LONG_MS = 240
/** What is left out or put in: one period of 80 to 400 Hz, joined over `JOIN_MS`. */
const MIN_PERIOD_MS = 2.5
const MAX_PERIOD_MS = 12.5
const JOIN_MS = 7.5
/** A worse likeness is heard. */
const ALIKE = 0.6
/** Below about -50 dBFS any two pieces join well. */
const SILENT_POWER = 100 * 100

/** Nothing held and no place known. */
const EMPTY = 0
/** Ran dry: what comes may go on from here, or later. */
const DRY = 1
/** Waits until the first sample held is as old as the target. */
const FILLING = 2
const PLAYING = 3

/**
 * Reorders and evens out one RTP stream for playing on the beat. Timestamps address a ring of
 * samples, allocated once, so that order, duplicates and packet size do not matter. What is missing is
 * made up; the delay follows its target (`DelayTarget`), and with it the drift of the sender's clock, by
 * whole pitch periods left out or put in. No clock and no socket inside: all values are samples of the
 * decoded stream, `nowTs` being the timestamp that an undelayed packet would carry now.
 */
export class JitterBuffer {
  /** Packets of which nothing could be played any more. */
  late = 0
  readonly #rate: SessionRate
  readonly #size: number
  readonly #pcm: Int16Array
  readonly #valid: Uint8Array
  readonly #mask: number
  readonly #delay: DelayTarget
  readonly #concealer: Concealer
  readonly #finder: PitchFinder
  /** The samples that come next, in a line, for stretching. */
  readonly #ahead: Int16Array
  readonly #minPeriod: number
  readonly #maxPeriod: number
  readonly #crossfade: number
  /** Timestamp of the next sample to play. */
  #play = 0
  /** One past the newest sample held. */
  #newest = 0
  /** What lies before was played, or given up: it is not gone back to. */
  #minimum = 0
  #state = EMPTY
  /** Samples made up while nothing was there, which may or may not have been lost. */
  #provisional = 0
  #sinceStretch = 0
  #concealed = 0
  #inserted = 0
  #discarded = 0
  #lastDelay = 0

  constructor(rate: SessionRate = 8000) {
    const perMs = rate / 1000
    this.#rate = rate
    this.#size = FRAME_MS * perMs
    const ring = (RING_AT_8K * rate) / 8000
    this.#pcm = new Int16Array(ring)
    this.#valid = new Uint8Array(ring)
    this.#mask = ring - 1
    this.#delay = new DelayTarget(rate)
    this.#concealer = new Concealer(rate)
    this.#finder = new PitchFinder(rate)
    this.#minPeriod = MIN_PERIOD_MS * perMs
    this.#maxPeriod = MAX_PERIOD_MS * perMs
    this.#crossfade = JOIN_MS * perMs
    this.#ahead = new Int16Array(this.#size + this.#maxPeriod)
  }

  /** Wanted delay between an undelayed packet and its playing, in ms. */
  get targetMs(): number {
    return (this.#delay.target * 1000) / this.#rate
  }

  /** Delay of what was played last, in ms. */
  get delayMs(): number {
    return (this.#lastDelay * 1000) / this.#rate
  }

  /** Made up because packets were missing, in frames. */
  get concealed(): number {
    return Math.round(this.#concealed / this.#size)
  }

  /** Left out to bring the delay down, in ms. */
  get discardedMs(): number {
    return (this.#discarded * 1000) / this.#rate
  }

  /** Put in to bring the delay up, in ms. */
  get insertedMs(): number {
    return (this.#inserted * 1000) / this.#rate
  }

  /** Takes the samples of a packet; true unless it came too late. */
  put(ts: number, pcm: Int16Array, length: number, nowTs: number): boolean {
    this.#delay.observe(Math.max(0, nowTs - ts))
    const end = ts + length
    if (this.#state !== EMPTY && end <= Math.max(this.#minimum, this.#state === PLAYING ? this.#play : 0)) {
      this.late++
      return false
    }
    this.#advanceTo(ts, end)
    const ring = this.#pcm
    const valid = this.#valid
    const mask = this.#mask
    const skip = Math.max(0, this.#play - ts)
    let index = (ts + skip) & mask
    for (let i = skip; i < length; i++) {
      ring[index] = pcm[i] as number
      valid[index] = 1
      index = (index + 1) & mask
    }
    if (end > this.#newest) this.#newest = end
    return true
  }

  /** The next 20 ms; false (and zeros) when there is nothing to play. */
  pull(into: Int16Array, nowTs: number): boolean {
    if (this.#state === FILLING && nowTs - this.#play >= this.#delay.target) this.#state = PLAYING
    if (this.#state !== PLAYING) return this.#concealTail(into, 0)
    this.#delay.framePlayed()
    let excess = nowTs - this.#play - this.#delay.target
    if (excess > (FAR_TOO_LONG_MS * this.#rate) / 1000) {
      this.#concealer.crossfadeNext()
      this.#skipTo(this.#play + excess)
      excess = 0
    }
    this.#lastDelay = nowTs - this.#play
    this.#sinceStretch++
    const off = excess < 0 || excess > (TOO_LONG_MS * this.#rate) / 1000
    if (off && this.#stretch(into, excess)) return true
    return this.#read(into)
  }

  /** Forgets what it holds; the learned target stays, and what was playing fades away. */
  flush(): void {
    this.#state = EMPTY
    this.#valid.fill(0)
    this.#provisional = 0
    this.#concealer.crossfadeNext()
  }

  /** Where the stream goes on, now that samples up to `end` are coming. */
  #advanceTo(ts: number, end: number): void {
    switch (this.#state) {
      case EMPTY:
        this.#startAt(ts)
        this.#minimum = ts - this.#delay.maximum
        break
      case DRY:
        // What was waited for, or speech after a pause of the sender.
        this.#startAt(Math.max(ts, this.#minimum))
        break
      case FILLING:
        if (ts < this.#play) this.#play = Math.max(ts, this.#minimum)
        break
      default:
        if (this.#provisional > 0) {
          // What was made up meanwhile stands for what is missing before this packet, if it is.
          const missing = Math.max(0, ts - this.#play)
          const covered = Math.min(missing, this.#provisional)
          this.#play += covered
          this.#inserted += this.#provisional - covered
          this.#provisional = 0
        }
    }
    // Further ahead than the ring is long: the oldest goes.
    const first = end - this.#pcm.length
    if (this.#play < first) {
      this.#skipTo(first)
      this.#concealer.crossfadeNext()
    }
  }

  #startAt(ts: number): void {
    this.#state = FILLING
    this.#play = ts
    this.#newest = ts
    this.#provisional = 0
  }

  #skipTo(ts: number): void {
    const valid = this.#valid
    const mask = this.#mask
    const end = Math.min(ts, this.#newest)
    for (let at = this.#play; at < end; at++) {
      this.#discarded += valid[at & mask] as number
      valid[at & mask] = 0
    }
    this.#play = ts
    if (this.#newest < ts) this.#newest = ts
  }

  /** Plays a frame with one period less or more in it; false when the sound does not allow it now. */
  #stretch(into: Int16Array, excess: number): boolean {
    if (this.#concealer.fading) return false
    const size = this.#size
    const held = this.#peekAhead()
    const shorter = excess > 0
    const longest = shorter ? Math.min(this.#maxPeriod, held - size) : this.#maxPeriod
    if (held < size || longest < this.#minPeriod) return false
    const ahead = this.#ahead
    const urgent = Math.abs(excess) > (URGENT_MS * this.#rate) / 1000
    const silent = this.#isSilent(held)
    if (!silent && this.#sinceStretch < (urgent ? 2 : 4)) return false
    const finder = this.#finder
    finder.search(ahead, 0, this.#crossfade, 1, this.#minPeriod, longest)
    if (finder.score < ALIKE && !silent && !urgent) return false
    const period = finder.lag
    const join = this.#crossfade
    // Shorter: from here into what comes one period later. Longer: one period, then from it into itself.
    const before = shorter ? 0 : period
    const after = shorter ? period : 0
    for (let i = 0; i < before; i++) into[i] = ahead[i] as number
    for (let i = 0; i < join; i++) {
      const weight = (i + 1) / (join + 1)
      const old = ahead[before + i] as number
      into[before + i] = Math.round(old * (1 - weight) + (ahead[after + i] as number) * weight)
    }
    const shift = after - before
    for (let i = before + join; i < size; i++) into[i] = ahead[i + shift] as number
    this.#consume(size + shift)
    if (shorter) this.#discarded += period
    else this.#inserted += period
    this.#sinceStretch = 0
    this.#concealer.played(into, 0, size)
    return true
  }

  /** Copies what is there without a hole, up to a frame and the longest period; how much that is. */
  #peekAhead(): number {
    const ahead = this.#ahead
    const ring = this.#pcm
    const valid = this.#valid
    const mask = this.#mask
    let index = this.#play & mask
    let count = 0
    while (count < ahead.length && valid[index] === 1) {
      ahead[count++] = ring[index] as number
      index = (index + 1) & mask
    }
    return count
  }

  #isSilent(count: number): boolean {
    const limit = SILENT_POWER * count
    let sum = 0
    for (let i = 0; i < count && sum < limit; i++) sum += (this.#ahead[i] as number) ** 2
    return sum < limit
  }

  #consume(count: number): void {
    const valid = this.#valid
    const mask = this.#mask
    for (let i = 0; i < count; i++) valid[(this.#play + i) & mask] = 0
    this.#play += count
  }

  #read(into: Int16Array): boolean {
    const ring = this.#pcm
    const valid = this.#valid
    const mask = this.#mask
    const size = this.#size
    let sounding = false
    let at = 0
    while (at < size) {
      const from = at
      let index = this.#play & mask
      const there = valid[index]
      while (at < size && valid[index] === there) {
        if (there === 1) {
          into[at] = ring[index] as number
          valid[index] = 0
        }
        at++
        index = (index + 1) & mask
      }
      if (there === 1) {
        this.#play += at - from
        this.#concealer.played(into, from, at - from)
        sounding = true
      } else if (this.#newest > this.#play) {
        // Later ones are here: these are lost.
        this.#play += at - from
        if (valid[this.#play & mask] === 1 ? this.#bridge(into, from, at) : this.#conceal(into, from, at)) {
          sounding = true
        }
      } else {
        // Nothing later is here: lost, late, or the sender paused. The place is kept for a while.
        this.#provisional += size - from
        return this.#concealTail(into, from) || sounding
      }
    }
    return sounding
  }

  /** Fills the rest of a frame while nothing is there; when that has faded the buffer is dry. */
  #concealTail(into: Int16Array, from: number): boolean {
    if (this.#conceal(into, from, this.#size)) return true
    if (this.#state === PLAYING) {
      this.#state = DRY
      this.#minimum = this.#play
      this.#provisional = 0
    }
    return false
  }

  #bridge(into: Int16Array, from: number, end: number): boolean {
    if (!this.#concealer.interpolate(into, from, end - from, this.#ahead, this.#peekAhead())) return false
    this.#concealed += end - from
    return true
  }

  #conceal(into: Int16Array, from: number, end: number): boolean {
    if (!this.#concealer.conceal(into, from, end - from)) return false
    this.#concealed += end - from
    return true
  }
}
