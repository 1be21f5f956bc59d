import { Base64Field, base64Length, decodeBase64, encodeBase64 } from '../../base/base64.js'
import { parseObject } from './json.js'

/* Audio in the JSON messages of vendors: as base64 in one string, which is most of the message. */

/** Text of a message as UTF-8 bytes. */
export interface TextBytes {
  readonly text: Uint8Array
}

/** Writes messages that differ only in their audio. */
export class AudioMessageWriter {
  readonly #head: Buffer
  readonly #tail: Buffer
  #buffer = Buffer.alloc(0)

  /** @param head, tail the JSON before and after the base64. */
  constructor(head: string, tail: string) {
    this.#head = Buffer.from(head)
    this.#tail = Buffer.from(tail)
  }

  /** Returns the message with these bytes. It is valid until the next one is written. */
  write(bytes: Uint8Array): TextBytes {
    const needed = this.#head.length + base64Length(bytes.length) + this.#tail.length
    if (this.#buffer.length < needed) {
      this.#buffer = Buffer.alloc(needed)
      this.#buffer.set(this.#head)
    }
    const end = encodeBase64(bytes, this.#buffer, this.#head.length)
    this.#buffer.set(this.#tail, end)
    return { text: this.#buffer.subarray(0, end + this.#tail.length) }
  }
}

/** A message. The field of its audio is an empty string in `message`, and `audio` has the decoded bytes. */
export interface AudioMessage {
  readonly message: Readonly<Record<string, unknown>>
  /** Valid until the next message is read; null for a message without audio. */
  readonly audio: Uint8Array | null
}

/** Shorter strings are parsed with the rest. */
const MIN_TEXT = 256
/** Longest base64 for which the memory is kept: ten seconds at 16 kHz. */
const MAX_KEPT = 512 * 1024

/** All connections of a thread read one message after the other. */
let scratch = new Uint8Array(0)

/** Reads messages of which one field holds audio. */
export class AudioMessageReader {
  readonly #field: Base64Field

  constructor(field: string) {
    this.#field = new Base64Field(field)
  }

  /** Returns null for anything but a JSON object. */
  read(data: Buffer): AudioMessage | null {
    const found = this.#field.find(data)
    if (found === null) return readMessage(data)
    const { from, end } = found
    if (end - from < MIN_TEXT) return readMessage(data)
    const bytes = scratchFor(end - from)
    const length = decodeBase64(data, from, end, bytes)
    if (length === -1) return readMessage(data)
    const message = parseObject(data.toString('utf8', 0, from) + data.toString('utf8', end))
    return message === null ? null : { message, audio: bytes.subarray(0, length) }
  }
}

/** Reads a message as it is. Returns null for anything but a JSON object. */
export function readMessage(data: Buffer): AudioMessage | null {
  const message = parseObject(data.toString('utf8'))
  return message === null ? null : { message, audio: null }
}

function scratchFor(text: number): Uint8Array {
  if (scratch.length >= text) return scratch
  const bytes = new Uint8Array(text)
  if (text <= MAX_KEPT) scratch = bytes
  return bytes
}
