import { randomBytes } from 'node:crypto'
import { SRTP_SUITES } from '../../media/rtp/srtp/key-derivation.js'
import type { SrtpKey, SrtpSuiteName } from '../../media/rtp/srtp/keying.js'

/** Use of SRTP by a leg: never, when both sides support it, or always (the call fails otherwise). */
export type SrtpPolicy = 'off' | 'optional' | 'required'

/** One `a=crypto` attribute (RFC 4568). Contains a secret and must not be logged. */
export interface CryptoAttribute {
  /** As received: an answer repeats it. */
  readonly tag: string
  readonly suite: SrtpSuiteName
  readonly key: SrtpKey
}

/**
 * The suites we offer, best first: fast in hardware with full authentication, then those with the widest
 * support.
 */
const OFFERED: readonly SrtpSuiteName[] = [
  'AEAD_AES_256_GCM',
  'AEAD_AES_128_GCM',
  'AES_CM_128_HMAC_SHA1_80',
  'AES_CM_128_HMAC_SHA1_32',
]

const TAG = /^(?:0|[1-9]\d{0,8})$/
const INLINE = /^inline:([A-Za-z0-9+/]+={0,2})((?:\|[^|;\s]+){0,2})$/
const LIFETIME = /^(?:2\^\d{1,2}|[1-9]\d{0,14})$/
const MKI = /^(\d{1,80}):(\d{1,3})$/
const MAX_MKI_BYTES = 128
/** A window-size hint changes nothing, and a key derivation rate of zero is what we use. */
const IGNORED_PARAMETER = /^(?:WSH=\d+|KDR=0)$/

/**
 * Parses one attribute. Returns null when it cannot be used: an unknown suite, a key of the wrong length,
 * several keys, or session parameters that would leave packets unprotected. RFC 4568 6.3 requires skipping
 * such a line, not refusing the offer.
 */
export function parseCrypto(
  tag: string,
  suite: string,
  config: string,
  session: string,
): CryptoAttribute | null {
  const name = OFFERED.find((known) => known === suite.toUpperCase())
  const inline = INLINE.exec(config)
  if (name === undefined || inline === null || !TAG.test(tag)) return null
  const parameters = session.split(' ').filter((parameter) => parameter !== '')
  if (!parameters.every((parameter) => IGNORED_PARAMETER.test(parameter))) return null
  const [, base64 = '', rest = ''] = inline
  const keyAndSalt = Buffer.from(base64, 'base64')
  const { keyBytes, saltBytes } = SRTP_SUITES[name]
  if (keyAndSalt.length !== keyBytes + saltBytes) return null
  const mki = readKeyParameters(rest.split('|').slice(1))
  return mki === undefined ? null : { tag, suite: name, key: { keyAndSalt, mki } }
}

/** Returns the attributes of our offer, with a new key for each suite. */
export function offerCrypto(): CryptoAttribute[] {
  return OFFERED.map((suite, index) => ({ tag: String(index + 1), suite, key: newKey(suite) }))
}

export function newKey(suite: SrtpSuiteName): SrtpKey {
  const { keyBytes, saltBytes } = SRTP_SUITES[suite]
  return { keyAndSalt: randomBytes(keyBytes + saltBytes), mki: null }
}

export function writeCrypto({ tag, suite, key }: CryptoAttribute): string {
  return `a=crypto:${tag} ${suite} inline:${Buffer.from(key.keyAndSalt).toString('base64')}`
}

/** Reads the optional lifetime and MKI, in that order. Returns undefined for anything else. */
function readKeyParameters(fields: readonly string[]): Uint8Array | null | undefined {
  let mki: Uint8Array | null = null
  for (const [index, field] of fields.entries()) {
    // The lifetime binds the peer, whose key it is: the peer has to rekey in time.
    if (index === 0 && LIFETIME.test(field)) continue
    const match = MKI.exec(field)
    if (match === null || mki !== null) return undefined
    const bytes = Number(match[2])
    const value = BigInt(match[1] ?? '0').toString(16)
    if (bytes < 1 || bytes > MAX_MKI_BYTES || value.length > bytes * 2) return undefined
    mki = Buffer.from(value.padStart(bytes * 2, '0'), 'hex')
  }
  return mki
}
