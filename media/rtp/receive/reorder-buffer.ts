import type { RtpPacket } from '../packet.js'

/** Maximum length of a payload that is held. No packet of a voice codec has a longer one. */
const MAX_BYTES = 1500
/** A stream that was out of order once may be again within 250 packets, which is 5 s. */
const WARY_FOR = 250

/** The fields of `RtpPacket` that a held packet needs. */
export interface QueuedPacket {
  payloadType: number
  payloadOffset: number
  payloadLength: number
  timestamp: number
  /** Unwrapped. */
  sequence: number
  /** Position at which the packet arrived (session samples). */
  now: number
}

/**
 * Restores the order of packets for decoders with state. Loss is far more frequent than reordering and must
 * not cause delay. So only on a stream that was out of order before, the packet after a gap waits for one
 * more packet. At most one packet is held, in preallocated memory.
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

  /**
   * Takes a packet once: its unwrapped sequence number, the current position, and whether its decoder has
   * state.
   */
  put(data: Uint8Array, packet: RtpPacket, sequence: number, now: number, adapts: boolean): void {
    if (this.#next !== -1 && sequence < this.#next) this.#reorderedUntil = sequence + WARY_FOR
    const gap = this.#next !== -1 && sequence > this.#next
    const fits = packet.payloadOffset + packet.payloadLength <= MAX_BYTES
    if (adapts && gap && !this.#isHolding && sequence <= this.#reorderedUntil && fits) {
      // The datagram may be longer because of its padding.
      const end = packet.payloadOffset + packet.payloadLength
      for (let at = packet.payloadOffset; at < end; at++) this.#bytes[at] = data[at] as number
      fill(this.#held, packet, sequence, now)
      this.#isHolding = true
      return
    }
    // The gap before the held packet was not filled: stop waiting.
    if (this.#isHolding && sequence > this.#held.sequence) this.release()
    fill(this.#direct, packet, sequence, now)
    this.#onPacket(data, this.#direct)
    this.skip(sequence)
  }

  /** Takes note of a packet that needs no decoding. */
  skip(sequence: number): void {
    if (sequence >= this.#next) this.#next = sequence + 1
    if (this.#isHolding && this.#held.sequence <= this.#next) this.release()
  }

  /** Releases a packet that has waited since before `since`. Call it on every tick. */
  tick(since: number): void {
    if (this.#isHolding && this.#held.now <= since) this.release()
  }

  /** Releases the held packet. */
  release(): void {
    if (!this.#isHolding) return
    this.#isHolding = false
    this.#next = Math.max(this.#next, this.#held.sequence + 1)
    this.#onPacket(this.#bytes, this.#held)
  }

  /** Begins another stream with its own order, and drops the held packet. */
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
