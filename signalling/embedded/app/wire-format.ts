import { ByteQueue } from '../transport/byte-queue.js'

/*
 * The framing of drachtio: `<length>#<payload>`, with the length (bytes) in decimal digits. The first line of
 * the payload holds tokens separated by `|`; a SIP message may follow its CRLF.
 *
 * All text is read and written as Latin-1, one character per byte, so that any encoding passes through
 * unchanged.
 */

const HASH = 0x23
const DIGIT_0 = 0x30
const DIGIT_9 = 0x39
const NO_BODY = Buffer.alloc(0)

/** A decoded payload. */
export interface Frame {
  readonly tokens: readonly string[]
  /** The bytes after the first CRLF; empty without one. */
  readonly body: Buffer
}

export function encodeFrame(firstLine: string, body: Buffer | null): Buffer {
  const line = body === null ? firstLine : `${firstLine}\r\n`
  const prefix = `${line.length + (body?.length ?? 0)}#${line}`
  if (body === null) return Buffer.from(prefix, 'latin1')
  const frame = Buffer.allocUnsafe(prefix.length + body.length)
  frame.write(prefix, 0, 'latin1')
  body.copy(frame, prefix.length)
  return frame
}

export function decodePayload(payload: Buffer): Frame {
  const end = payload.indexOf('\r\n')
  const line = end < 0 ? payload.toString('latin1') : payload.toString('latin1', 0, end)
  return { tokens: line.split('|'), body: end < 0 ? NO_BODY : payload.subarray(end + 2) }
}

/** Maximum announced length (bytes); more means that the stream does not speak this protocol. */
const MAX_LENGTH = 99_999_999
/** Bytes read of an oversized payload, enough for the first line with the id of the command. */
const KEPT_BYTES = 512

/**
 * Cuts a byte stream into payloads. `push` returns false, from then on always, once the framing is invalid
 * and the connection has to be closed. A payload above `maxBytes` is skipped and its beginning passed to
 * `onOversize`; without `onOversize` it counts as invalid framing. Payloads are views, only valid during the
 * callback.
 */
export class FrameReader {
  readonly #queue = new ByteQueue()
  readonly #maxBytes: number
  readonly #onPayload: (payload: Buffer) => void
  readonly #onOversize: ((beginning: Buffer) => void) | null
  /** Number of bytes still to be skipped. */
  #skip = 0
  #broken = false

  constructor(
    maxBytes: number,
    onPayload: (payload: Buffer) => void,
    onOversize: ((beginning: Buffer) => void) | null = null,
  ) {
    this.#maxBytes = maxBytes
    this.#onPayload = onPayload
    this.#onOversize = onOversize
  }

  push(chunk: Buffer): boolean {
    if (this.#broken) return false
    this.#queue.append(chunk)
    for (;;) {
      if (this.#skip > 0) {
        const count = Math.min(this.#skip, this.#queue.length)
        this.#queue.consume(count)
        this.#skip -= count
        if (this.#skip > 0) return true
      }
      const bytes = this.#queue.bytes
      let length = 0
      let at = 0
      while (at < bytes.length) {
        const byte = bytes[at] ?? 0
        if (byte < DIGIT_0 || byte > DIGIT_9) break
        length = length * 10 + (byte - DIGIT_0)
        at += 1
        if (length > (this.#onOversize === null ? this.#maxBytes : MAX_LENGTH)) return this.#fail()
      }
      if (at === bytes.length) return true
      if (at === 0 || length === 0 || bytes[at] !== HASH) return this.#fail()
      const end = at + 1 + length
      if (length > this.#maxBytes) {
        const kept = at + 1 + Math.min(length, KEPT_BYTES)
        if (bytes.length < kept) return true
        this.#skip = end
        this.#onOversize?.(bytes.subarray(at + 1, kept))
        continue
      }
      if (bytes.length < end) return true
      this.#queue.consume(end)
      this.#onPayload(bytes.subarray(at + 1, end))
    }
  }

  #fail(): false {
    this.#broken = true
    this.#queue.clear()
    return false
  }
}
