import type { SrtpSuiteName } from '../srtp/keying.js'
import { ByteReader, DtlsFailure, uint, uint16List, vector } from './bytes.js'
import { DTLS_1_2 } from './record.js'

export const RANDOM_BYTES = 32
/** TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, which RFC 8827 section 6.5 makes mandatory. */
export const CIPHER_SUITE = 0xc02b
/** ecdsa_secp256r1_sha256. */
export const SIGNATURE_SCHEME = 0x0403
/** The signalling value of RFC 5746 section 3.3. */
const RENEGOTIATION_SUITE = 0x00ff

const EXTENSION = {
  supportedGroups: 10,
  pointFormats: 11,
  signatureAlgorithms: 13,
  useSrtp: 14,
  extendedMasterSecret: 23,
  renegotiationInfo: 0xff01,
} as const

/** Protection profiles of RFC 5764 section 4.1.2 and RFC 7714 section 14.2. */
export const SRTP_PROFILES: readonly { readonly id: number; readonly suite: SrtpSuiteName }[] = [
  { id: 0x0007, suite: 'AEAD_AES_128_GCM' },
  { id: 0x0008, suite: 'AEAD_AES_256_GCM' },
  { id: 0x0001, suite: 'AES_CM_128_HMAC_SHA1_80' },
]

export interface ClientHello {
  /** The highest version that the client speaks. */
  readonly version: number
  readonly random: Buffer
  readonly cookie: Buffer
  readonly suites: readonly number[]
  readonly compressions: Buffer
  readonly groups: readonly number[]
  readonly signatures: readonly number[]
  /** Ids of SRTP protection profiles. */
  readonly profiles: readonly number[]
  readonly extendedMasterSecret: boolean
  readonly secureRenegotiation: boolean
  readonly pointFormats: boolean
}

/** Reads the first fields of a ClientHello: the random number and the cookie. Throws DtlsFailure. */
export function readCookie(body: Buffer): Pick<ClientHello, 'random' | 'cookie'> {
  const reader = new ByteReader(body)
  reader.uint(2)
  const random = reader.bytes(RANDOM_BYTES)
  reader.vector(1)
  return { random, cookie: reader.vector(1) }
}

/** Reads a ClientHello (RFC 6347 section 4.2.1). Throws DtlsFailure. */
export function readClientHello(body: Buffer): ClientHello {
  const reader = new ByteReader(body)
  const version = reader.uint(2)
  const random = reader.bytes(RANDOM_BYTES)
  // No session is resumed, so its id is of no use.
  reader.vector(1)
  const cookie = reader.vector(1)
  const suites = uint16List(reader.vector(2, 2))
  const compressions = reader.vector(1, 1)
  const extensions = reader.remaining === 0 ? new Map<number, Buffer>() : readExtensions(reader.vector(2))
  reader.end()
  const renegotiation = extensions.get(EXTENSION.renegotiationInfo)
  if (renegotiation !== undefined && !renegotiation.equals(Buffer.from([0])))
    throw new DtlsFailure('handshake_failure', 'a first handshake cannot renegotiate')
  return {
    version,
    random,
    cookie,
    suites,
    compressions,
    groups: listOf(extensions.get(EXTENSION.supportedGroups)),
    signatures: listOf(extensions.get(EXTENSION.signatureAlgorithms)),
    profiles: profilesOf(extensions.get(EXTENSION.useSrtp)),
    extendedMasterSecret: extensions.has(EXTENSION.extendedMasterSecret),
    secureRenegotiation: renegotiation !== undefined || suites.includes(RENEGOTIATION_SUITE),
    pointFormats: extensions.has(EXTENSION.pointFormats),
  }
}

/** Returns the body of the ServerHello that answers `hello` with this SRTP profile. */
export function writeServerHello(hello: ClientHello, random: Buffer, profile: number): Buffer {
  const extensions = [
    extension(EXTENSION.extendedMasterSecret, Buffer.alloc(0)),
    // The empty vector at the end refuses a master key identifier.
    extension(EXTENSION.useSrtp, Buffer.concat([vector(2, uint(profile, 2)), vector(1)])),
  ]
  if (hello.secureRenegotiation) extensions.push(extension(EXTENSION.renegotiationInfo, vector(1)))
  if (hello.pointFormats) extensions.push(extension(EXTENSION.pointFormats, vector(1, uint(0, 1))))
  return Buffer.concat([
    uint(DTLS_1_2, 2),
    random,
    vector(1),
    uint(CIPHER_SUITE, 2),
    uint(0, 1),
    vector(2, ...extensions),
  ])
}

function readExtensions(bytes: Buffer): Map<number, Buffer> {
  const reader = new ByteReader(bytes)
  const extensions = new Map<number, Buffer>()
  while (reader.remaining > 0) {
    const type = reader.uint(2)
    if (extensions.has(type)) throw new DtlsFailure('illegal_parameter', `extension ${type} comes twice`)
    extensions.set(type, reader.vector(2))
  }
  return extensions
}

function listOf(data: Buffer | undefined): readonly number[] {
  if (data === undefined) return []
  const reader = new ByteReader(data)
  const list = uint16List(reader.vector(2))
  reader.end()
  return list
}

function profilesOf(data: Buffer | undefined): readonly number[] {
  if (data === undefined) return []
  const reader = new ByteReader(data)
  const list = uint16List(reader.vector(2))
  reader.vector(1)
  reader.end()
  return list
}

function extension(type: number, data: Buffer): Buffer {
  return Buffer.concat([uint(type, 2), vector(2, data)])
}
