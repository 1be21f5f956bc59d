import { FRAME_MS, type SessionRate } from '../base/frame.js'
import { Concealer } from './concealer.js'
import { DelayTarget } from './delay-target.js'
import { PitchFinder } from './pitch-finder.js'

/**
 * About one second, so that the burst after a network stall fits. A power of two, so that an index needs no
 * division.
 */
const RING_AT_8K = 8192
/**
 * A period is inserted as soon as the delay is below its target, because the next frame could underrun. It is
 * discarded only when the delay exceeds the target by this much (ms), because excess delay is harmless.
 */
const TOO_LONG_MS = 12.5
/** Beyond this deviation (ms) every frame is stretched, however little its audio repeats. */
const URGENT_MS = 40
/**
 * A delay this far above the target (ms) is cut at once. It is more than a network stall of 300 ms leaves.
 */
const FAR_TOO_LONG_MS = 240
/** One period of 80 to 400 Hz is discarded or inserted, cross-faded over `JOIN_MS`. */
const MIN_PERIOD_MS = 2.5
const MAX_PERIOD_MS = 12.5
const JOIN_MS = 7.5
/** A join of periods with a lower correlation would be audible. */
const ALIKE = 0.6
/** Below about -50 dBFS any two periods join well. */
const SILENT_POWER = 100 * 100

/** The buffer holds nothing, and no position is known. */
const EMPTY = 0
/** The buffer ran dry. The next packet continues here or later. */
const DRY = 1
/** Playout waits until the first sample is as old as the target. */
const FILLING = 2
const PLAYING = 3
/** Nothing is played: the last second is kept, so that playing can begin at once. */
const SUSPENDED = 4

const NONE = -1

/**
 * Reorders one RTP stream and evens out its jitter for playout on the tick. Timestamps address a preallocated
 * ring of samples, so order, duplicates and packet size do not matter. Gaps are concealed. The delay follows
 * `DelayTarget`, and thereby the drift of the sender's clock, by discarding or inserting whole pitch periods.
 * The buffer has no clock and no socket: all values are samples of the decoded stream, and `nowTs` is the
 * timestamp that an undelayed packet would have now.
 */
export class JitterBuffer {
  /** Packets that arrived after all of their audio was due. */
  late = 0
  readonly #rate: SessionRate
  readonly #size: number
  readonly #pcm: Int16Array
  readonly #valid: Uint8Array
  readonly #mask: number
  readonly #delay: DelayTarget
  readonly #concealer: Concealer
  readonly #finder: PitchFinder
  /** The next samples to play, contiguous, for stretching. */
  readonly #ahead: Int16Array
  readonly #minPeriod: number
  readonly #maxPeriod: number
  readonly #crossfade: number
  /** Timestamp of the next sample to play. */
  #play = 0
  /** One past the newest sample held. */
  #newest = 0
  /** Samples before this timestamp were played or given up; playout never goes back behind it. */
  #minimum = 0
  #state = EMPTY
  /** Samples concealed while no later packet was there, so that they may or may not be lost. */
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

  /** Target delay between an undelayed packet and its playout (ms). */
  get targetMs(): number {
    return (this.#delay.target * 1000) / this.#rate
  }

  /** Delay of the audio played last (ms). */
  get delayMs(): number {
    return (this.#lastDelay * 1000) / this.#rate
  }

  /** Number of concealed frames. */
  get concealed(): number {
    return Math.round(this.#concealed / this.#size)
  }

  /** Audio discarded to reduce the delay (ms). */
  get discardedMs(): number {
    return (this.#discarded * 1000) / this.#rate
  }

  /** Audio inserted to increase the delay (ms). */
  get insertedMs(): number {
    return (this.#inserted * 1000) / this.#rate
  }

  /** Stores the samples of a packet. Returns false when the packet is too late. */
  put(ts: number, pcm: Int16Array, length: number, nowTs: number): boolean {
    this.#delay.observe(Math.max(0, nowTs - ts))
    const end = ts + length
    if (this.#state === SUSPENDED) {
      this.#keep(ts, pcm, length)
      return true
    }
    if (this.#state !== EMPTY && end <= Math.max(this.#minimum, this.#state === PLAYING ? this.#play : 0)) {
      this.late++
      return false
    }
    this.#advanceTo(ts, end)
    this.#store(ts, pcm, length, Math.max(0, this.#play - ts))
    if (end > this.#newest) this.#newest = end
    return true
  }

  /** Stops playing until the next `pull`. Audio is still taken. */
  suspend(): void {
    this.#state = SUSPENDED
    this.flush()
    this.#concealer.forget()
  }

  #store(ts: number, pcm: Int16Array, length: number, skip: number): void {
    const ring = this.#pcm
    const valid = this.#valid
    const mask = this.#mask
    let index = (ts + skip) & mask
    if (skip === 0 && length === pcm.length && index + length <= ring.length) {
      ring.set(pcm, index)
      valid.fill(1, index, index + length)
      return
    }
    for (let i = skip; i < length; i++) {
      ring[index] = pcm[i] as number
      valid[index] = 1
      index = (index + 1) & mask
    }
  }

  /** Keeps a packet while nothing is played. The samples of lost packets become invalid. */
  #keep(ts: number, pcm: Int16Array, length: number): void {
    this.#delay.framePlayed()
    const size = this.#pcm.length
    if (this.#newest === NONE) this.#newest = ts
    const end = ts + length
    if (end <= this.#newest - size) return
    if (ts > this.#newest) this.#invalidate(Math.max(this.#newest, ts - size), ts)
    this.#store(ts, pcm, length, 0)
    if (end > this.#newest) this.#newest = end
  }

  /** Plays the audio kept so far from the target delay on. */
  #resume(nowTs: number): void {
    const size = this.#pcm.length
    const newest = this.#newest
    const play = Math.max(newest - size, nowTs - Math.round(this.#delay.target))
    this.#state = EMPTY
    if (newest === NONE || play >= newest) {
      this.#valid.fill(0)
      return
    }
    this.#invalidate(newest, play + size)
    this.#play = play
    this.#minimum = play
    this.#state = PLAYING
  }

  #invalidate(from: number, end: number): void {
    for (let at = from; at < end; at++) this.#valid[at & this.#mask] = 0
  }

  /** Writes the next 20 ms. Returns false, and writes zeros, when there is nothing to play. */
  pull(into: Int16Array, nowTs: number): boolean {
    if (this.#state === SUSPENDED) this.#resume(nowTs)
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

  /** Drops all samples. The learned target stays, and the audio being played fades out. */
  flush(): void {
    if (this.#state === SUSPENDED) this.#newest = NONE
    else this.#state = EMPTY
    this.#valid.fill(0)
    this.#provisional = 0
    this.#concealer.crossfadeNext()
  }

  /** Moves the playout position for samples up to `end`. */
  #advanceTo(ts: number, end: number): void {
    switch (this.#state) {
      case EMPTY:
        this.#startAt(ts)
        this.#minimum = ts - this.#delay.maximum
        break
      case DRY:
        // The awaited packet, or speech after a pause of the sender.
        this.#startAt(Math.max(ts, this.#minimum))
        break
      case FILLING:
        if (ts < this.#play) this.#play = Math.max(ts, this.#minimum)
        break
      default:
        if (this.#provisional > 0) {
          // The concealed samples replace those that are missing before this packet, as far as any are.
          const missing = Math.max(0, ts - this.#play)
          const covered = Math.min(missing, this.#provisional)
          this.#play += covered
          this.#inserted += this.#provisional - covered
          this.#provisional = 0
        }
    }
    // Samples more than a ring ahead displace the oldest ones.
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

  /** Plays a frame with one period less or more. Returns false when the audio does not allow that now. */
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
    // Shorter: cross-fade into the audio one period later. Longer: play one period, then cross-fade into it
    // again.
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

  /** Copies the contiguous samples ahead, at most a frame and the longest period. Returns their number. */
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
        // Later packets are here, so these samples are lost.
        this.#play += at - from
        if (valid[this.#play & mask] === 1 ? this.#bridge(into, from, at) : this.#conceal(into, from, at)) {
          sounding = true
        }
      } else {
        // No later packet is here: lost, late, or the sender paused. The playout position waits for a while.
        this.#provisional += size - from
        return this.#concealTail(into, from) || sounding
      }
    }
    return sounding
  }

  /**
   * Conceals the rest of a frame while no packet is there. The buffer is dry once the concealment has faded.
   */
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
