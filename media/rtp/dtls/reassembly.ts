import { uint } from './bytes.js'

export const HANDSHAKE = {
  clientHello: 1,
  serverHello: 2,
  helloVerifyRequest: 3,
  certificate: 11,
  serverKeyExchange: 12,
  certificateRequest: 13,
  serverHelloDone: 14,
  certificateVerify: 15,
  clientKeyExchange: 16,
  finished: 20,
} as const

const HEADER_BYTES = 12
/** The longest message that is put together. A ClientHello with a post-quantum key share has about 1,700 bytes. */
const MAX_MESSAGE_BYTES = 8192
/** Messages kept ahead of the expected one. A flight of the client has four. */
const MAX_AHEAD = 6

/** One whole handshake message. */
export interface HandshakeMessage {
  readonly type: number
  readonly sequence: number
  readonly epoch: number
  readonly body: Buffer
}

interface Partial {
  readonly type: number
  readonly epoch: number
  /** For the longest message, so that a flood of forged fragments that replace each other allocates nothing. */
  readonly space: { readonly body: Buffer; readonly known: Uint8Array }
  readonly body: Buffer
  readonly known: Uint8Array
  missing: number
}

/** Returns a message as one fragment (RFC 6347 section 4.2.2). This form is hashed, too (section 4.2.6). */
export function handshakeBytes(type: number, sequence: number, body: Uint8Array): Buffer {
  const length = uint(body.length, 3)
  return Buffer.concat([uint(type, 1), length, uint(sequence, 2), uint(0, 3), length, body])
}

/**
 * Puts fragments of handshake messages together and hands the messages out in order (RFC 6347 section 4.2.3).
 * Fragments may be lost, doubled, swapped and overlap; the byte that came first stays. Fragments may be forged, so a
 * fragment that contradicts others, and a whole message, take their place. Memory is bounded.
 */
export class HandshakeReassembly {
  readonly #partials = new Map<number, Partial>()
  #next = 0

  /**
   * Takes the content of one handshake record.
   *
   * @return the sequence number of the last fragment in it that belongs to a message already handed out, or null
   */
  add(content: Buffer, epoch: number): number | null {
    let old: number | null = null
    for (let at = 0; at + HEADER_BYTES <= content.length; ) {
      const type = content.readUInt8(at)
      const length = content.readUIntBE(at + 1, 3)
      const sequence = content.readUInt16BE(at + 4)
      const offset = content.readUIntBE(at + 6, 3)
      const fragment = content.subarray(at + HEADER_BYTES, at + HEADER_BYTES + content.readUIntBE(at + 9, 3))
      const whole = fragment.length === content.readUIntBE(at + 9, 3)
      if (!whole || length > MAX_MESSAGE_BYTES || offset + fragment.length > length) return old
      if (sequence < this.#next) old = sequence
      else if (sequence < this.#next + MAX_AHEAD) this.#put(type, epoch, length, sequence, offset, fragment)
      at += HEADER_BYTES + fragment.length
    }
    return old
  }

  /** Returns the next message in order, or null while it is not complete. */
  take(): HandshakeMessage | null {
    const partial = this.#partials.get(this.#next)
    if (partial === undefined || partial.missing > 0) return null
    this.#partials.delete(this.#next)
    return { type: partial.type, sequence: this.#next++, epoch: partial.epoch, body: partial.body }
  }

  /** Returns a complete message whatever its number is, or null. Hellos before the cookie belong to no order. */
  takeAny(): HandshakeMessage | null {
    for (const [sequence, { type, epoch, body, missing }] of this.#partials) {
      if (missing > 0) continue
      this.#partials.delete(sequence)
      return { type, sequence, epoch, body }
    }
    return null
  }

  /** Forgets all fragments; the message with this number is the next one. */
  restart(next: number): void {
    this.#partials.clear()
    this.#next = next
  }

  #put(
    type: number,
    epoch: number,
    length: number,
    sequence: number,
    offset: number,
    fragment: Buffer,
  ): void {
    if (fragment.length === 0 && length > 0) return
    let partial = this.#partials.get(sequence)
    const isWhole = fragment.length === length
    // A fragment without encryption may be forged. It must not take the place of an encrypted one.
    if (partial !== undefined && partial.epoch > epoch) return
    if (partial?.epoch === epoch && partial.missing === 0 && !isWhole) return
    const fits = partial?.type === type && partial.epoch === epoch && partial.body.length === length
    if (partial === undefined || isWhole || !fits) {
      const space = partial?.space ?? {
        body: Buffer.alloc(MAX_MESSAGE_BYTES),
        known: new Uint8Array(MAX_MESSAGE_BYTES),
      }
      const body = space.body.subarray(0, length).fill(0)
      const known = space.known.subarray(0, length).fill(0)
      partial = { type, epoch, space, body, known, missing: length }
      this.#partials.set(sequence, partial)
    }
    for (let i = 0; i < fragment.length; i++) {
      if (partial.known[offset + i] === 1) continue
      partial.known[offset + i] = 1
      partial.body[offset + i] = fragment[i] as number
      partial.missing--
    }
  }
}
