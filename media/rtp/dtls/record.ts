import { createCipheriv, createDecipheriv } from 'node:crypto'
import { uint } from './bytes.js'
import type { RecordKey } from './key-schedule.js'

/** Content types of RFC 5246 section 6.2.1. */
export const CONTENT = { changeCipherSpec: 20, alert: 21, handshake: 22, applicationData: 23 } as const

/** DTLS 1.2 on the wire (RFC 6347 section 4.1). */
export const DTLS_1_2 = 0xfefd
export const RECORD_HEADER_BYTES = 13
const EXPLICIT_NONCE_BYTES = 8
const TAG_BYTES = 16
/** Records read from one datagram. A flight of a browser has five. */
const MAX_RECORDS = 16

/** One record as received. `body` is a view of the datagram. */
export interface DtlsRecord {
  readonly type: number
  readonly version: number
  readonly epoch: number
  readonly sequence: number
  readonly body: Buffer
}

/**
 * Splits a datagram into its records (RFC 6347 section 4.1.1). What does not look like a record is left out, with
 * everything after it, as section 4.1.2.7 asks.
 */
export function splitRecords(datagram: Uint8Array): readonly DtlsRecord[] {
  const bytes = Buffer.from(datagram.buffer, datagram.byteOffset, datagram.byteLength)
  const records: DtlsRecord[] = []
  for (let at = 0; at + RECORD_HEADER_BYTES <= bytes.length && records.length < MAX_RECORDS; ) {
    const end = at + RECORD_HEADER_BYTES + bytes.readUInt16BE(at + 11)
    const version = bytes.readUInt16BE(at + 1)
    // A client that does not know the version yet writes DTLS 1.0 (0xfeff).
    if (version >>> 8 !== 0xfe || end > bytes.length) break
    records.push({
      type: bytes.readUInt8(at),
      version,
      epoch: bytes.readUInt16BE(at + 3),
      sequence: bytes.readUIntBE(at + 5, 6),
      body: bytes.subarray(at + RECORD_HEADER_BYTES, end),
    })
    at = end
  }
  return records
}

/** Returns a record; encrypted when there is a key (RFC 5288 section 3). */
export function writeRecord(
  type: number,
  epoch: number,
  sequence: number,
  plain: Uint8Array,
  key: RecordKey | null,
): Buffer {
  const number = Buffer.concat([uint(epoch, 2), uint(sequence, 6)])
  const body = key === null ? plain : seal(key, type, number, plain)
  return Buffer.concat([uint(type, 1), uint(DTLS_1_2, 2), number, uint(body.length, 2), body])
}

/** Returns the plain text of an encrypted record, or null when it was not made with the key. */
export function openRecord(
  { type, version, epoch, sequence, body }: DtlsRecord,
  key: RecordKey,
): Buffer | null {
  const length = body.length - EXPLICIT_NONCE_BYTES - TAG_BYTES
  if (length < 0) return null
  const nonce = Buffer.concat([key.salt, body.subarray(0, EXPLICIT_NONCE_BYTES)])
  const cipher = createDecipheriv('aes-128-gcm', key.key, nonce, { authTagLength: TAG_BYTES })
  const number = Buffer.concat([uint(epoch, 2), uint(sequence, 6)])
  cipher.setAAD(Buffer.concat([number, uint(type, 1), uint(version, 2), uint(length, 2)]))
  cipher.setAuthTag(body.subarray(body.length - TAG_BYTES))
  const plain = cipher.update(body.subarray(EXPLICIT_NONCE_BYTES, body.length - TAG_BYTES))
  try {
    cipher.final()
  } catch {
    // `final` throws only when the tag does not match.
    return null
  }
  return plain
}

/** The record number is the explicit nonce: it never repeats under one key. */
function seal(key: RecordKey, type: number, number: Buffer, plain: Uint8Array): Buffer {
  const cipher = createCipheriv('aes-128-gcm', key.key, Buffer.concat([key.salt, number]), {
    authTagLength: TAG_BYTES,
  })
  cipher.setAAD(Buffer.concat([number, uint(type, 1), uint(DTLS_1_2, 2), uint(plain.length, 2)]))
  const sealed = cipher.update(plain)
  cipher.final()
  return Buffer.concat([number, sealed, cipher.getAuthTag()])
}
