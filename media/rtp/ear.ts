import { MAX_PACKET_MS } from '../codec/decode-line.js'
import { type AudioFrame, FRAME_MS, type Rate, type SessionRate } from '../frame.js'

const SLOTS = 4
/** A missing packet is waited for until this many later ones are here ... */
const MAX_HELD = 2
/** ... or this long, when the stream stops just then. */
const MAX_HELD_MS = 60
/** Concealment fades over this many frames; a longer gap is silence. */
const CONCEAL_FRAMES = 3
/** Our time line and the stream's may differ by 5 ms before the place of a frame is corrected. */
const SLACK_MS = 5
/** A gap longer than a second is not filled: time simply goes on. */
const MAX_FILL_FRAMES = 50

interface Held {
  sequence: number
  position: number
  length: number
  readonly pcm: Int16Array
}

interface Lent extends AudioFrame {
  pcm: Int16Array
  at: number
}

/**
 * Turns packets into consecutive 20 ms frames as they arrive, for those who listen rather than play:
 * no jitter delay, only order. Missing packets are faded over, silence of the sender is silence.
 * Positions are samples of the session's rate since its start; nothing is allocated per packet.
 */
export class ArrivalEar {
  /** Packets that came after a later one had been handed out. */
  late = 0
  readonly #out: (frame: AudioFrame) => void
  readonly #samples: number
  readonly #maxHeld: number
  readonly #slack: number
  readonly #frame: Lent
  readonly #pcm: Int16Array
  readonly #last: Int16Array
  readonly #slots: readonly Held[]
  #held = 0
  #heldSince = 0
  #next = -1
  /** Where the next sample belongs. */
  #cursor = 0
  #filled = 0

  constructor(rate: SessionRate, out: (frame: AudioFrame) => void) {
    this.#out = out
    const perMs = rate / 1000
    this.#samples = perMs * FRAME_MS
    this.#maxHeld = perMs * MAX_HELD_MS
    this.#slack = perMs * SLACK_MS
    this.#pcm = new Int16Array(this.#samples)
    this.#last = new Int16Array(this.#samples)
    this.#slots = Array.from({ length: SLOTS }, () => ({
      sequence: -1,
      position: 0,
      length: 0,
      pcm: new Int16Array(perMs * MAX_PACKET_MS),
    }))
    this.#frame = { pcm: this.#pcm, rate: rate as Rate, at: 0 }
  }

  /** A packet, once: its unwrapped sequence number, the place of its first sample, and the time now. */
  put(sequence: number, position: number, pcm: Int16Array, length: number, now: number): void {
    if (this.#next === -1) this.#next = sequence
    const ahead = sequence - this.#next
    if (ahead < 0) {
      this.late++
      return
    }
    if (ahead === 0) {
      this.#emit(position, pcm, length, false)
      this.#next++
      this.#release(0)
      return
    }
    if (ahead >= SLOTS) {
      this.#release(SLOTS)
      this.#emit(position, pcm, length, sequence !== this.#next)
      this.#next = sequence + 1
      return
    }
    const slot = this.#slots[sequence % SLOTS] as Held
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

  /** On the beat: gives up waiting, and fills with silence what is `behind` samples overdue. */
  beat(now: number, behind: number): void {
    if (this.#held > 0 && now - this.#heldSince > this.#maxHeld) this.#release(SLOTS)
    if (this.#cursor + MAX_FILL_FRAMES * this.#samples < now - behind) this.#cursor = Math.round(now - behind)
    while (this.#cursor + this.#samples + behind <= now) this.#silence()
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
      let first: Held | null = null
      for (let i = 0; i < SLOTS; i++) {
        const slot = this.#slots[i] as Held
        if (slot.sequence >= 0 && (first === null || slot.sequence < first.sequence)) first = slot
      }
      if (first === null) return
      const lost = first.sequence !== this.#next
      if (lost && maySkip-- === 0) return
      this.#next = first.sequence + 1
      first.sequence = -1
      this.#held--
      this.#emit(first.position, first.pcm, first.length, lost)
    }
  }

  #emit(position: number, pcm: Int16Array, length: number, lost: boolean): void {
    const expected = this.#cursor + this.#filled
    const gap = position - expected
    if (gap > this.#slack || gap < -this.#slack) {
      if (this.#filled > 0) this.#silence()
      if (gap > 0) this.#bridge(position, lost)
      if (Math.abs(position - this.#cursor) > this.#slack) this.#cursor = Math.round(position)
    }
    const frame = this.#pcm
    let filled = this.#filled
    for (let i = 0; i < length; i++) {
      frame[filled++] = pcm[i] as number
      if (filled < this.#samples) continue
      this.#last.set(frame)
      this.#hand()
      filled = 0
    }
    this.#filled = filled
  }

  /** Frames for a gap up to `position`: faded repeats when packets were lost, else silence. */
  #bridge(position: number, lost: boolean): void {
    const gap = position - this.#cursor
    const frames = lost ? Math.round(gap / this.#samples) : Math.floor(gap / this.#samples)
    if (frames > MAX_FILL_FRAMES) return
    const span = CONCEAL_FRAMES * this.#samples
    for (let k = 0; k < frames; k++) {
      if (!lost || k >= CONCEAL_FRAMES) {
        this.#silence()
        continue
      }
      for (let i = 0; i < this.#samples; i++) {
        this.#pcm[i] = ((this.#last[i] as number) * (span - k * this.#samples - i)) / span
      }
      this.#hand()
    }
  }

  /** Completes the frame at hand, usually an empty one, with silence. */
  #silence(): void {
    this.#pcm.fill(0, this.#filled)
    this.#hand()
  }

  #hand(): void {
    this.#filled = 0
    this.#frame.pcm = this.#pcm
    this.#frame.at = this.#cursor
    this.#cursor += this.#samples
    this.#out(this.#frame)
  }
}
