import { type AudioFrame, FRAME_MS, type Rate, type SessionRate } from '../../base/frame.js'
import { MAX_PACKET_MS } from '../../codec/decoder-pipeline.js'
import { Concealer } from '../../jitter/concealer.js'

const SLOTS = 4
/** A missing packet is awaited until this many later ones have arrived ... */
const MAX_HELD = 2
/** ... or for this long (ms), when the stream stops just then. */
const MAX_HELD_MS = 60
/** The frames follow a shift of the stream's time line only when it exceeds this (ms). */
const SLACK_MS = 5
/** A longer gap than one second is not filled: the position simply jumps. */
const MAX_FILL_FRAMES = 50

/** Takes frames of 20 ms. A frame is borrowed until the call returns. */
export interface FrameListener {
  onFrame(frame: AudioFrame): void
}

interface HeldPacket {
  sequence: number
  position: number
  length: number
  readonly pcm: Int16Array
}

interface BorrowedFrame extends AudioFrame {
  pcm: Int16Array
  at: number
}

/**
 * Turns packets into consecutive 20 ms frames as they arrive, in order but without the delay of the jitter
 * buffer. Lost packets are concealed as in the jitter buffer, from both sides of the gap and fading to
 * silence after 60 ms, because a hole would look like the end of speech to a detector and like a click to a
 * recogniser. Silence of the sender becomes silent frames. Positions are samples at the session rate since
 * session start. Allocates nothing per packet.
 */
export class ArrivalFramer {
  /** `late` and `concealed` are counted; off while the jitter buffer counts the same packets. */
  counts = true
  /** Packets that arrived after a later one was delivered. */
  late = 0
  #listener: FrameListener | null = null
  readonly #samples: number
  readonly #maxHeld: number
  readonly #slack: number
  readonly #frame: BorrowedFrame
  readonly #pcm: Int16Array
  readonly #concealer: Concealer
  readonly #slots: readonly HeldPacket[]
  #held = 0
  #heldSince = 0
  #next = -1
  /** Time from the end of the last packet's audio to its arrival (samples); NaN before the first packet. */
  #lag = Number.NaN
  /** Position at which the last packet arrived. */
  #lastArrival = Number.NEGATIVE_INFINITY
  /** Position of the next sample. */
  #cursor = 0
  #filled = 0
  #concealedSamples = 0

  constructor(rate: SessionRate) {
    const perMs = rate / 1000
    this.#samples = perMs * FRAME_MS
    this.#maxHeld = perMs * MAX_HELD_MS
    this.#slack = perMs * SLACK_MS
    this.#pcm = new Int16Array(this.#samples)
    this.#concealer = new Concealer(rate)
    this.#slots = Array.from({ length: SLOTS }, () => ({
      sequence: -1,
      position: 0,
      length: 0,
      pcm: new Int16Array(perMs * MAX_PACKET_MS),
    }))
    this.#frame = { pcm: this.#pcm, rate: rate as Rate, at: 0 }
  }

  /** Number of concealed frames. */
  get concealed(): number {
    return Math.round(this.#concealedSamples / this.#samples)
  }

  /** Delivers frames to `listener` from now on. */
  start(listener: FrameListener): void {
    this.#listener = listener
  }

  /**
   * Takes a packet once: its unwrapped sequence number, the position of its first sample, and the current
   * position. Returns false when the packet is too late. `pcm` may be changed.
   */
  put(sequence: number, position: number, pcm: Int16Array, length: number, now: number): boolean {
    this.#lastArrival = now
    // Never NaN after the first packet, so that `skip` adds silence only behind audio.
    this.#lag = now - position - length
    if (this.#next === -1) this.#next = sequence
    const ahead = sequence - this.#next
    if (ahead < 0) {
      if (this.counts) this.late++
      return false
    }
    if (ahead === 0) {
      this.#appendPacket(position, pcm, length, false)
      this.#next++
      this.#release(0)
      return true
    }
    if (ahead >= SLOTS) {
      this.#release(SLOTS)
      this.#appendPacket(position, pcm, length, sequence !== this.#next)
      this.#next = sequence + 1
      return true
    }
    const slot = this.#slots[sequence % SLOTS] as HeldPacket
    slot.sequence = sequence
    slot.position = position
    slot.length = length
    slot.pcm.set(pcm.subarray(0, length))
    if (this.#held === 0) this.#heldSince = now
    this.#held++
    if (this.#held > MAX_HELD) this.#release(1)
    return true
  }

  /**
   * Takes note of a packet without audio (an event or comfort noise), which is therefore not lost: silence
   * follows the audio up to its time, so that frames go on while a key is held.
   */
  skip(sequence: number, now: number): void {
    if (this.#next !== sequence) return
    this.#next++
    this.#release(0)
    if (this.#held > 0) return
    while (this.#cursor + this.#filled + this.#samples + this.#lag <= now) this.#emitSilence()
  }

  /**
   * Ends waiting for lost packets, and adds silence that is `behind` samples overdue. Call it on every tick.
   * A stream that is late but still arriving needs no further silence, which would tear words apart.
   */
  tick(now: number, behind: number): void {
    if (this.#held > 0 && now - this.#heldSince > this.#maxHeld) this.#release(SLOTS)
    if (this.#lastArrival + this.#samples + behind > now) return
    if (this.#cursor + MAX_FILL_FRAMES * this.#samples < now - behind) this.#cursor = Math.round(now - behind)
    while (this.#cursor + this.#samples + behind <= now) this.#emitSilence()
  }

  /** Begins a new stream: delivers held packets and restarts the order. Positions continue. */
  restart(): void {
    this.#release(SLOTS)
    this.#next = -1
  }

  /** Delivers held packets that are next in order, and skips up to `gaps` gaps between them. */
  #release(gaps: number): void {
    let maySkip = gaps
    while (this.#held > 0) {
      let first: HeldPacket | null = null
      for (let i = 0; i < SLOTS; i++) {
        const slot = this.#slots[i] as HeldPacket
        if (slot.sequence >= 0 && (first === null || slot.sequence < first.sequence)) first = slot
      }
      if (first === null) return
      const lost = first.sequence !== this.#next
      if (lost && maySkip-- === 0) return
      this.#next = first.sequence + 1
      first.sequence = -1
      this.#held--
      this.#appendPacket(first.position, first.pcm, first.length, lost)
    }
  }

  #appendPacket(position: number, pcm: Int16Array, length: number, lost: boolean): void {
    const slack = this.#slack
    const gap = position - this.#cursor - this.#filled
    // A multiple of the packet length, so that frames still begin where packets do.
    const missing = lost ? Math.round(gap / length) * length : 0
    if (missing > 0 && missing <= MAX_FILL_FRAMES * this.#samples) {
      this.#concealGap(missing, pcm, length)
    } else if (gap > slack || gap < -slack) {
      if (this.#filled > 0) this.#emitSilence()
      const frames = Math.floor((position - this.#cursor) / this.#samples)
      for (let i = 0; i < frames && frames <= MAX_FILL_FRAMES; i++) this.#emitSilence()
    }
    if (Math.abs(position - this.#cursor - this.#filled) > slack) {
      this.#cursor = Math.round(position) - this.#filled
    }
    this.#concealer.played(pcm, 0, length)
    this.#append(pcm, length)
  }

  /** Conceals `count` samples before those of `after`. */
  #concealGap(count: number, after: Int16Array, known: number): void {
    const frame = this.#pcm
    if (this.counts) this.#concealedSamples += count
    for (let left = count; left > 0; ) {
      const from = this.#filled
      const piece = Math.min(left, this.#samples - from)
      left -= piece
      if (left > 0) this.#concealer.conceal(frame, from, piece)
      else this.#concealer.interpolate(frame, from, piece, after, known)
      this.#filled += piece
      if (this.#filled === this.#samples) this.#emitFrame()
    }
  }

  #append(pcm: Int16Array, length: number): void {
    const size = this.#samples
    if (this.#filled === 0 && pcm.length === size) {
      // The usual packet is delivered where it was decoded.
      this.#deliver(pcm)
      return
    }
    const frame = this.#pcm
    for (let done = 0; done < length; ) {
      const filled = this.#filled
      const count = Math.min(size - filled, length - done)
      for (let i = 0; i < count; i++) frame[filled + i] = pcm[done + i] as number
      done += count
      this.#filled = filled + count
      if (this.#filled === size) this.#emitFrame()
    }
  }

  /** Fills the rest of the current frame, usually all of it, with silence. */
  #emitSilence(): void {
    this.#pcm.fill(0, this.#filled)
    this.#emitFrame()
  }

  #emitFrame(): void {
    this.#filled = 0
    this.#deliver(this.#pcm)
  }

  #deliver(pcm: Int16Array): void {
    this.#frame.pcm = pcm
    this.#frame.at = this.#cursor
    this.#cursor += this.#samples
    this.#listener?.onFrame(this.#frame)
  }
}
