import type { RtpPacket } from '../packet.js'

/** No datagram is longer on a network that RTP crosses. */
const MAX_BYTES = 1500
/** A stream that came out of order once is taken for one that may again, for 5 s of packets. */
const WARY_FOR = 250

/** Where and when a packet belongs; the fields of `RtpPacket`, apart from it. */
export interface QueuedPacket {
  payloadType: number
  payloadOffset: number
  payloadLength: number
  timestamp: number
  /** Unwrapped. */
  sequence: number
  /** Position at which it came, in samples of the session. */
  now: number
}

/**
 * Gives packets to a decoder that adapts to what it decodes in the order in which they were sent. Loss is
 * by far more frequent than a swapped pair, and must delay nothing: only on a stream that was seen to
 * swap, the packet behind a gap waits for one more. One is held at most, in memory taken once.
 */
export class ReorderBuffer {
  readonly #onPacket: (data: Uint8Array, arrival: QueuedPacket) => void
  readonly #direct: QueuedPacket = blank()
  readonly #held: QueuedPacket = blank()
  readonly #bytes = new Uint8Array(MAX_BYTES)
  #isHolding = false
  #next = -1
  #reorderedUntil = -1

  constructor(out: (data: Uint8Array, arrival: QueuedPacket) => void) {
    this.#onPacket = out
  }

  /** A packet, once: its unwrapped sequence number, the position now, and whether its decoder cares. */
  put(data: Uint8Array, packet: RtpPacket, sequence: number, now: number, adapts: boolean): void {
    if (this.#next !== -1 && sequence < this.#next) this.#reorderedUntil = sequence + WARY_FOR
    const gap = this.#next !== -1 && sequence > this.#next
    const fits = packet.payloadOffset + packet.payloadLength <= MAX_BYTES
    if (adapts && gap && !this.#isHolding && sequence <= this.#reorderedUntil && fits) {
      this.#bytes.set(data)
      fill(this.#held, packet, sequence, now)
      this.#isHolding = true
      return
    }
    // Behind what is held, the gap stayed: give it up.
    if (this.#isHolding && sequence > this.#held.sequence) this.release()
    fill(this.#direct, packet, sequence, now)
    this.#onPacket(data, this.#direct)
    this.skip(sequence)
  }

  /** That packet was seen and needs no decoding. */
  skip(sequence: number): void {
    if (sequence >= this.#next) this.#next = sequence + 1
    if (this.#isHolding && this.#held.sequence <= this.#next) this.release()
  }

  /** On the beat: what has waited since before `since` waits no longer. */
  tick(since: number): void {
    if (this.#isHolding && this.#held.now <= since) this.release()
  }

  /** Gives out what is held. */
  release(): void {
    if (!this.#isHolding) return
    this.#isHolding = false
    this.#next = Math.max(this.#next, this.#held.sequence + 1)
    this.#onPacket(this.#bytes, this.#held)
  }

  /** Another stream, with another order; what is held belongs to the old one. */
  restart(): void {
    this.#isHolding = false
    this.#next = -1
    this.#reorderedUntil = -1
  }
}

function blank(): QueuedPacket {
  return { payloadType: 0, payloadOffset: 0, payloadLength: 0, timestamp: 0, sequence: 0, now: 0 }
}

function fill(arrival: QueuedPacket, packet: RtpPacket, sequence: number, now: number): void {
  arrival.payloadType = packet.payloadType
  arrival.payloadOffset = packet.payloadOffset
  arrival.payloadLength = packet.payloadLength
  arrival.timestamp = packet.timestamp
  arrival.sequence = sequence
  arrival.now = now
}
