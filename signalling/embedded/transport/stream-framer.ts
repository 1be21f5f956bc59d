import type { Limits } from '../limits.js'
import { announcedLength } from '../message/sip-parser.js'
import { ByteQueue } from './byte-queue.js'

const CR = 0x0d
const LF = 0x0a

export interface StreamEvents {
  /** One complete message; the bytes stay valid. */
  onMessage(bytes: Buffer): void
  /**
   * CRLFCRLF between messages: the peer expects a CRLF in return (RFC 5626 3.5.1). Several in a row count as
   * one, because only a flood has several in one segment.
   */
  onKeepAlive(): void
  /** The stream cannot be framed any more. `head` holds the readable part of start line and headers. */
  onError(status: 400 | 413 | 513, reason: string, head: Buffer | null): void
}

/** Cuts a SIP byte stream into messages by Content-Length (RFC 3261 18.3). Owns no socket. */
export class StreamFramer {
  readonly #queue = new ByteQueue()
  readonly #limits: Limits
  readonly #events: StreamEvents
  /** Number of bytes already searched for the empty line. */
  #searched = 0
  /** Size (bytes) of the message being collected, 0 while its head is incomplete. */
  #size = 0
  #broken = false

  constructor(limits: Limits, events: StreamEvents) {
    this.#limits = limits
    this.#events = events
  }

  /** True if an incomplete message is buffered. */
  get partial(): boolean {
    return this.#searched > 0 || this.#size > 0
  }

  push(chunk: Buffer): void {
    if (this.#broken) return
    this.#queue.append(chunk)
    while (!this.#broken && this.#next()) {}
  }

  /** Returns true when bytes were consumed and more may be possible. */
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

  /** Returns 1 when blank lines were skipped, -1 when more bytes are needed, 0 when a message begins here. */
  #skipBlankLines(bytes: Buffer): number {
    let at = 0
    let keepAlive = false
    while (bytes[at] === CR && bytes[at + 1] === LF) {
      const double = bytes[at + 2] === CR && bytes[at + 3] === LF
      // `CRLF` or `CRLF CR` at the end may become a keep-alive; elsewhere a single `CRLF` is noise.
      const left = bytes.length - at
      if (!double && (left === 2 || (left === 3 && bytes[at + 2] === CR))) break
      keepAlive ||= double
      at += double ? 4 : 2
    }
    if (at > 0) {
      this.#queue.consume(at)
      this.#searched = 0
      if (keepAlive) this.#events.onKeepAlive()
      return 1
    }
    if (bytes.length === 0) return -1
    return bytes[0] === CR && (bytes.length === 1 || bytes[1] === LF) ? -1 : 0
  }

  #fail(status: 400 | 413 | 513, reason: string, head: Buffer | null): void {
    this.#broken = true
    this.#queue.clear()
    this.#events.onError(status, reason, head)
  }
}
