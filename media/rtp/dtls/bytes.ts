/** Alert descriptions of RFC 5246 section 7.2.2 that Parley sends. */
export const ALERTS = {
  close_notify: 0,
  unexpected_message: 10,
  handshake_failure: 40,
  bad_certificate: 42,
  illegal_parameter: 47,
  decode_error: 50,
  decrypt_error: 51,
  protocol_version: 70,
} as const

export type AlertName = keyof typeof ALERTS

/** A message of the peer that cannot be part of the handshake; the alert says so to the peer. */
export class DtlsFailure extends Error {
  readonly alert: AlertName
  /** True if the sender has proved that it reads what is sent to the peer. */
  readonly isProved: boolean

  constructor(alert: AlertName, message: string, { isProved = false } = {}) {
    super(message)
    this.alert = alert
    this.isProved = isProved
  }
}

/** Reads the presentation language of RFC 5246 section 4. Throws DtlsFailure `decode_error` past the end. */
export class ByteReader {
  readonly #bytes: Buffer
  #at = 0

  constructor(bytes: Uint8Array) {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  }

  get remaining(): number {
    return this.#bytes.length - this.#at
  }

  /** Reads a big-endian integer of 1 to 6 bytes. */
  uint(bytes: number): number {
    return this.bytes(bytes).readUIntBE(0, bytes)
  }

  /** Returns a view of the next bytes. */
  bytes(length: number): Buffer {
    if (length > this.remaining) throw new DtlsFailure('decode_error', 'a field reaches past its message')
    this.#at += length
    return this.#bytes.subarray(this.#at - length, this.#at)
  }

  /** Reads a vector whose length stands before it, in `lengthBytes` bytes. */
  vector(lengthBytes: number, shortest = 0): Buffer {
    const length = this.uint(lengthBytes)
    if (length < shortest) throw new DtlsFailure('decode_error', 'a vector is too short')
    return this.bytes(length)
  }

  /** Refuses bytes after the last field. */
  end(): void {
    if (this.remaining > 0) throw new DtlsFailure('decode_error', 'bytes follow the last field')
  }
}

/** Reads a vector of 16-bit values. */
export function uint16List(vector: Buffer): readonly number[] {
  if (vector.length % 2 !== 0) throw new DtlsFailure('decode_error', 'a list of 16-bit values is odd')
  return Array.from({ length: vector.length / 2 }, (_, i) => vector.readUInt16BE(2 * i))
}

/** Returns an integer in network byte order. */
export function uint(value: number, bytes: number): Buffer {
  const out = Buffer.alloc(bytes)
  out.writeUIntBE(value, 0, bytes)
  return out
}

/** Returns a vector with its length before it. */
export function vector(lengthBytes: number, ...parts: readonly Uint8Array[]): Buffer {
  const body = Buffer.concat(parts)
  return Buffer.concat([uint(body.length, lengthBytes), body])
}
