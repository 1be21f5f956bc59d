import { createHmac, timingSafeEqual } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { addressBytes } from '../../base/address-bytes.js'
import { uint } from '../dtls/bytes.js'
import type { SocketAddress } from '../port.js'

const COOKIE = 0x2112a442
const HEADER_BYTES = 20
const INTEGRITY_BYTES = 24
const FINGERPRINT_BYTES = 8
/** FINGERPRINT is the checksum XOR "STUN" (RFC 8489 section 14.7). */
const FINGERPRINT_MASK = 0x5354554e
/** A browser's request has about 120 bytes. */
const MAX_BYTES = 576

/** Message types of RFC 8489 section 5: class and method Binding. */
export const STUN = { request: 0x0001, success: 0x0101, error: 0x0111 } as const

/** Attributes of RFC 8489 section 18.3 and RFC 8445 section 16.1. */
export const ATTRIBUTE = {
  username: 0x0006,
  messageIntegrity: 0x0008,
  errorCode: 0x0009,
  unknownAttributes: 0x000a,
  xorMappedAddress: 0x0020,
  priority: 0x0024,
  useCandidate: 0x0025,
  fingerprint: 0x8028,
  iceControlled: 0x8029,
  iceControlling: 0x802a,
} as const

/** A message whose FINGERPRINT is right. Its MESSAGE-INTEGRITY is not checked yet. */
export interface StunMessage {
  readonly type: number
  readonly transaction: Buffer
  /** Attributes before MESSAGE-INTEGRITY; of a repeated one the first. Views of the datagram. */
  readonly attributes: ReadonlyMap<number, Buffer>
  /** The datagram as it was hashed, and the hash; null without MESSAGE-INTEGRITY. */
  readonly integrity: { readonly hashed: Buffer; readonly hash: Buffer } | null
}

/** Reads a STUN message (RFC 8489 section 5). Returns null for anything malformed, or without a right FINGERPRINT. */
export function readStun(datagram: Uint8Array): StunMessage | null {
  const bytes = Buffer.from(datagram.buffer, datagram.byteOffset, datagram.byteLength)
  if (bytes.length < HEADER_BYTES + FINGERPRINT_BYTES || bytes.length > MAX_BYTES) return null
  if (bytes.readUInt16BE(2) !== bytes.length - HEADER_BYTES || bytes.length % 4 !== 0) return null
  if (bytes.readUInt32BE(4) !== COOKIE) return null
  const end = bytes.length - FINGERPRINT_BYTES
  if (bytes.readUInt32BE(end) !== ((ATTRIBUTE.fingerprint << 16) | 4) >>> 0) return null
  if (bytes.readUInt32BE(end + 4) !== fingerprintOf(bytes.subarray(0, end))) return null
  const attributes = new Map<number, Buffer>()
  let integrity: StunMessage['integrity'] = null
  for (let at = HEADER_BYTES; at < end; ) {
    const type = bytes.readUInt16BE(at)
    const length = bytes.readUInt16BE(at + 2)
    const next = at + 4 + length + ((4 - (length % 4)) % 4)
    if (next > end) return null
    const value = bytes.subarray(at + 4, at + 4 + length)
    // Attributes behind the integrity are not protected by it (RFC 8489 section 14.5).
    if (integrity === null && type === ATTRIBUTE.messageIntegrity) {
      if (length !== INTEGRITY_BYTES - 4) return null
      const hashed = Buffer.from(bytes.subarray(0, at))
      hashed.writeUInt16BE(at + INTEGRITY_BYTES - HEADER_BYTES, 2)
      integrity = { hashed, hash: value }
    } else if (integrity === null && !attributes.has(type)) attributes.set(type, value)
    at = next
  }
  return { type: bytes.readUInt16BE(0), transaction: bytes.subarray(8, HEADER_BYTES), attributes, integrity }
}

/** Returns true when the sender of the message knows the password. */
export function hasIntegrity({ integrity }: StunMessage, password: string): boolean {
  if (integrity === null) return false
  return timingSafeEqual(createHmac('sha1', password).update(integrity.hashed).digest(), integrity.hash)
}

/** Returns a message with MESSAGE-INTEGRITY and FINGERPRINT. */
export function writeStun(
  type: number,
  transaction: Uint8Array,
  attributes: readonly (readonly [number, Uint8Array])[],
  password: string,
): Buffer {
  const body = Buffer.concat(attributes.map(([name, value]) => attribute(name, value)))
  const header = (bytes: number) =>
    Buffer.concat([uint(type, 2), uint(bytes, 2), uint(COOKIE, 4), transaction])
  const hashed = Buffer.concat([header(body.length + INTEGRITY_BYTES), body])
  const hash = createHmac('sha1', password).update(hashed).digest()
  const rest = Buffer.concat([body, attribute(ATTRIBUTE.messageIntegrity, hash)])
  const whole = Buffer.concat([header(rest.length + FINGERPRINT_BYTES), rest])
  return Buffer.concat([whole, attribute(ATTRIBUTE.fingerprint, uint(fingerprintOf(whole), 4))])
}

/** Returns the value of XOR-MAPPED-ADDRESS (RFC 8489 section 14.2) for a literal address. */
export function xorMappedAddress({ address, port }: SocketAddress, transaction: Uint8Array): Buffer {
  const mask = Buffer.concat([uint(COOKIE, 4), transaction])
  const host = addressBytes(address)
  for (let i = 0; i < host.length; i++) host[i] = (host[i] as number) ^ (mask[i] as number)
  return Buffer.concat([uint(host.length === 4 ? 1 : 2, 2), uint(port ^ (COOKIE >>> 16), 2), host])
}

/** Returns the value of ERROR-CODE (RFC 8489 section 14.8). */
export function errorCode(code: number, reason: string): Buffer {
  return Buffer.concat([
    uint(0, 2),
    uint(Math.floor(code / 100), 1),
    uint(code % 100, 1),
    Buffer.from(reason),
  ])
}

function attribute(type: number, value: Uint8Array): Buffer {
  const padding = Buffer.alloc((4 - (value.length % 4)) % 4)
  return Buffer.concat([uint(type, 2), uint(value.length, 2), value, padding])
}

function fingerprintOf(bytes: Uint8Array): number {
  return (crc32(bytes) ^ FINGERPRINT_MASK) >>> 0
}
