import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'

/** Hash functions that a certificate fingerprint may use here; SHA-1 and MD5 can be forged (RFC 8122 section 5). */
export const FINGERPRINT_HASHES = ['sha-256', 'sha-384', 'sha-512'] as const

/** A certificate fingerprint of `a=fingerprint` (RFC 8122). */
export interface Fingerprint {
  readonly hash: (typeof FINGERPRINT_HASHES)[number]
  /** As in SDP: upper-case hexadecimal bytes with colons between them. */
  readonly digest: string
}

/** Certificate and key that a process shows to every DTLS peer. The identity lives as long as the process. */
export interface DtlsIdentity {
  /** The self-signed certificate (DER). */
  readonly certificate: Buffer
  readonly privateKey: KeyObject
  readonly fingerprint: Fingerprint
}

const YEARS = 10
/** Object identifiers (DER): id-ecdsa-with-SHA256 and id-at-commonName. */
const ECDSA_WITH_SHA256 = Buffer.from('06082a8648ce3d040302', 'hex')
const COMMON_NAME = Buffer.from('0603550403', 'hex')

/**
 * Makes a P-256 key and a self-signed certificate for it. Peers compare its fingerprint with the SDP and look at
 * nothing else (RFC 8827 section 6.5).
 *
 * @param wallMs the Unix time (ms)
 */
export function createDtlsIdentity(wallMs: number): DtlsIdentity {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' })
  const name = der(0x30, der(0x31, der(0x30, COMMON_NAME, der(0x0c, Buffer.from('parley')))))
  const algorithm = der(0x30, ECDSA_WITH_SHA256)
  const serial = randomBytes(16)
  // A serial number is positive and has no leading zero byte.
  serial[0] = ((serial[0] as number) & 0x7f) | 0x40
  const facts = der(
    0x30,
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, serial),
    algorithm,
    name,
    der(0x30, time(wallMs - 86_400_000), time(wallMs + YEARS * 365 * 86_400_000)),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
  )
  const certificate = der(
    0x30,
    facts,
    algorithm,
    der(0x03, Buffer.from([0]), sign('sha256', facts, privateKey)),
  )
  return {
    certificate,
    privateKey,
    fingerprint: fingerprintOf(certificate, 'sha-256'),
  }
}

export function fingerprintOf(certificate: Uint8Array, hash: Fingerprint['hash']): Fingerprint {
  const hex = createHash(hash.replace('-', '')).update(certificate).digest('hex').toUpperCase()
  return { hash, digest: (hex.match(/../g) ?? []).join(':') }
}

function der(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const body = Buffer.concat(parts)
  return Buffer.concat([Buffer.from([tag, ...lengthOf(body.length)]), body])
}

/** The shortest form, as DER demands. */
function lengthOf(length: number): readonly number[] {
  if (length < 0x80) return [length]
  return length < 0x100 ? [0x81, length] : [0x82, length >>> 8, length & 0xff]
}

/** UTCTime until 2049, GeneralizedTime from 2050 (RFC 5280 section 4.1.2.5). */
function time(wallMs: number): Buffer {
  const text = new Date(wallMs).toISOString().replace(/[-:T]|\.\d+/g, '')
  return text < '2050' ? der(0x17, Buffer.from(text.slice(2))) : der(0x18, Buffer.from(text))
}
