import { type AudioFrame, FRAME_MS, type Rate, type SessionRate } from '../../base/frame.js'
import { MAX_PACKET_MS } from '../../codec/decoder-pipeline.js'
import { Concealer } from '../../jitter/concealer.js'

const SLOTS = 4
/** A missing packet is waited for until this many later ones are here ... */
const MAX_HELD = 2
/** ... or this long, when the stream stops just then. */
const MAX_HELD_MS = 60
/** Our time line and the stream's may differ by 5 ms before the place of a frame is corrected. */
const SLACK_MS = 5
/** A gap longer than a second is not filled: time simply goes on. */
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
 * Turns packets into consecutive 20 ms frames as they arrive, for those who listen rather than play:
 * no jitter delay, only order. For missing packets listeners get what one who plays the stream gets:
 * sound made up from both sides of the gap, faded to silence after 60 ms; a hole would be an offset to a
 * detector and a click to a recogniser. Silence of the sender is silence.
 * Positions are samples of the session's rate since its start; nothing is allocated per packet.
 */
export class ArrivalFramer {
  /** Packets that came after a later one had been handed out. */
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
  /** When a packet last came. */
  #lastArrival = Number.NEGATIVE_INFINITY
  /** Where the next sample belongs. */
  #cursor = 0
  #filled = 0

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

  /** Delivers frames to `listener` from now on. */
  start(listener: FrameListener): void {
    this.#listener = listener
  }

  /** A packet, once: its unwrapped sequence number, the place of its first sample, and the time now. */
  put(sequence: number, position: number, pcm: Int16Array, length: number, now: number): void {
    this.#lastArrival = now
    if (this.#next === -1) this.#next = sequence
    const ahead = sequence - this.#next
    if (ahead < 0) {
      this.late++
      return
    }
    if (ahead === 0) {
      this.#appendPacket(position, pcm, length, false)
      this.#next++
      this.#release(0)
      return
    }
    if (ahead >= SLOTS) {
      this.#release(SLOTS)
      this.#appendPacket(position, pcm, length, sequence !== this.#next)
      this.#next = sequence + 1
      return
    }
    const slot = this.#slots[sequence % SLOTS] as HeldPacket
    slot.sequence = sequence
    slot.position = position
    slot.length = length
    slot.pcm.set(pcm.subarray(0, length))
    if (this.#held === 0) this.#heldSince = now
    this.#held++
    if (this.#held > MAX_HELD) this.#release(1)
  }

  /** A packet that carries no audio (an event, comfort noise): not lost, nothing to hear. */
  skip(sequence: number): void {
    if (this.#next !== sequence) return
    this.#next++
    this.#release(0)
  }

  /**
   * On the beat: gives up waiting, and fills with silence what is `behind` samples overdue. A stream that
   * comes late, but comes, has its silence already: more of it between its packets would tear up words.
   */
  tick(now: number, behind: number): void {
    if (this.#held > 0 && now - this.#heldSince > this.#maxHeld) this.#release(SLOTS)
    if (this.#lastArrival + this.#samples + behind > now) return
    if (this.#cursor + MAX_FILL_FRAMES * this.#samples < now - behind) this.#cursor = Math.round(now - behind)
    while (this.#cursor + this.#samples + behind <= now) this.#emitSilence()
  }

  /** A new stream: what is held is handed out, order starts anew, time goes on. */
  restart(): void {
    this.#release(SLOTS)
    this.#next = -1
  }

  /** Hands out held packets that are next, and gives up on as many `gaps` between them. */
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
    // By whole packets: frames go on beginning where packets do.
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

  /** Makes up `count` samples before those of `after`. */
  #concealGap(count: number, after: Int16Array, known: number): void {
    const frame = this.#pcm
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
    const frame = this.#pcm
    const size = this.#samples
    for (let done = 0; done < length; ) {
      const filled = this.#filled
      const count = Math.min(size - filled, length - done)
      for (let i = 0; i < count; i++) frame[filled + i] = pcm[done + i] as number
      done += count
      this.#filled = filled + count
      if (this.#filled === size) this.#emitFrame()
    }
  }

  /** Completes the frame at hand, usually an empty one, with silence. */
  #emitSilence(): void {
    this.#pcm.fill(0, this.#filled)
    this.#emitFrame()
  }

  #emitFrame(): void {
    this.#filled = 0
    this.#frame.pcm = this.#pcm
    this.#frame.at = this.#cursor
    this.#cursor += this.#samples
    this.#listener?.onFrame(this.#frame)
  }
}
