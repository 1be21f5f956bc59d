import type { Limits } from '../limits.js'
import { announcedLength } from '../message/sip-parser.js'
import { ByteQueue } from './byte-queue.js'

const CR = 0x0d
const LF = 0x0a

export interface StreamEvents {
  /** One whole message; the bytes stay valid. */
  onMessage(bytes: Buffer): void
  /** CRLFCRLF between messages (RFC 5626 3.5.1): the peer wants a CRLF back. */
  onKeepAlive(): void
  /** The stream cannot be framed any more. `head` is the start line and headers, as far as they were read. */
  onError(status: 400 | 413 | 513, reason: string, head: Buffer | null): void
}

/** Cuts a SIP byte stream into messages by Content-Length (RFC 3261 18.3). Owns no socket. */
export class StreamFramer {
  readonly #queue = new ByteQueue()
  readonly #limits: Limits
  readonly #events: StreamEvents
  /** Bytes already searched for the empty line. */
  #searched = 0
  /** Size of the message being collected, 0 while its head is incomplete. */
  #size = 0
  #broken = false

  constructor(limits: Limits, events: StreamEvents) {
    this.#limits = limits
    this.#events = events
  }

  /** Whether the beginning of a message is waiting for its rest. */
  get partial(): boolean {
    return this.#searched > 0 || this.#size > 0
  }

  push(chunk: Buffer): void {
    if (this.#broken) return
    this.#queue.append(chunk)
    while (!this.#broken && this.#next()) {}
  }

  /** True when something was taken and there may be more. */
  #next(): boolean {
    const bytes = this.#queue.bytes
    if (this.#size === 0) {
      const blank = this.#skipBlankLines(bytes)
      if (blank !== 0) return blank > 0
      const end = bytes.indexOf('\r\n\r\n', Math.max(0, this.#searched - 3), 'latin1')
      if (end < 0) {
        this.#searched = bytes.length
        if (bytes.length > this.#limits.headBytes) this.#fail(513, 'Message Too Large', bytes)
        return false
      }
      const length = announcedLength(bytes.toString('latin1', 0, end))
      if (length < 0) {
        this.#fail(400, 'Bad Content-Length Header', bytes.subarray(0, end + 4))
        return false
      }
      this.#size = end + 4 + length
      if (this.#size > this.#limits.messageBytes) {
        this.#fail(413, 'Request Entity Too Large', bytes.subarray(0, end + 4))
        return false
      }
    }
    if (bytes.length < this.#size) return false
    const message = bytes.subarray(0, this.#size)
    this.#queue.consume(this.#size)
    this.#size = 0
    this.#searched = 0
    this.#events.onMessage(message)
    return true
  }

  /** 1: skipped some, -1: undecided until more arrives, 0: a message begins here. */
  #skipBlankLines(bytes: Buffer): number {
    if (bytes.length === 0) return -1
    if (bytes[0] !== CR) return 0
    if (bytes.length === 1) return -1
    if (bytes[1] !== LF) return 0
    const double = bytes[2] === CR && bytes[3] === LF
    // `CRLF CR` may become a keep-alive; `CRLF` alone is one half of it or noise.
    if (!double && bytes.length === 3 && bytes[2] === CR) return -1
    if (!double && bytes.length === 2) return -1
    this.#queue.consume(double ? 4 : 2)
    this.#searched = 0
    if (double) this.#events.onKeepAlive()
    return 1
  }

  #fail(status: 400 | 413 | 513, reason: string, head: Buffer | null): void {
    this.#broken = true
    this.#queue.clear()
    this.#events.onError(status, reason, head)
  }
}
