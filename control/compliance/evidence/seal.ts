import { createPrivateKey, createPublicKey, type KeyObject, randomBytes, sign } from 'node:crypto'
import { canonicalJson, type Json } from '../../base/canonical-json.js'
import type { RootKey } from '../../base/root-key.js'
import { commitmentOf, hashOf, keyIdOf } from './hashes.js'

/*
 * Sealed records: a hash chain per organization and environment, with a signature on each link. docs/evidence.md
 * states the format. The sealed text names the person by commitments, SHA-256 over a random salt and the data.
 * The salt and the data stand beside the text, so that erasing them leaves the chain valid.
 */

export const SEAL_ALGORITHM = 'sha256-jcs'
/** Version of the record's format. Records of version 1 have no member `v`. */
export const RECORD_VERSION = 2

export type JsonObject = { readonly [key: string]: Json }

export interface SigningKey {
  /** First 16 hex digits of SHA-256 over the raw public key. */
  readonly keyId: string
  /** Raw Ed25519 public key, 64 hex digits. */
  readonly publicKey: string
  /** Signs the 32 bytes of a hash (hex). Returns base64. */
  sign(hash: string): string
}

export interface EvidenceKeys {
  readonly current: SigningKey
  /** Keys of earlier root keys that are still configured. One of them announces the current key. */
  readonly earlier: readonly SigningKey[]
}

export interface SealedRecord {
  /** Canonical JSON of the sealed part. */
  readonly record: string
  readonly hash: string
  /** Base64. */
  readonly signature: string
}

// RFC 8410: PKCS#8 wrapping of a 32-byte Ed25519 seed.
const PKCS8_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex')

const opened = new WeakMap<RootKey, EvidenceKeys>()

export function openEvidenceKeys(rootKey: RootKey): EvidenceKeys {
  const known = opened.get(rootKey)
  if (known !== undefined) return known
  const keys = { current: signingKey(rootKey), earlier: rootKey.previous.map(signingKey) }
  opened.set(rootKey, keys)
  return keys
}

function signingKey(rootKey: RootKey): SigningKey {
  const privateKey: KeyObject = createPrivateKey({
    key: Buffer.concat([PKCS8_PREFIX, rootKey.subkey('evidence-signing')]),
    format: 'der',
    type: 'pkcs8',
  })
  const raw = createPublicKey(privateKey).export({ format: 'jwk' }).x ?? ''
  const publicKey = Buffer.from(raw, 'base64url').toString('hex')
  return {
    keyId: keyIdOf(publicKey),
    publicKey,
    sign: (hash) => sign(null, Buffer.from(hash, 'hex'), privateKey).toString('base64'),
  }
}

/** Seals a record that follows `prevHash`. `v`, `seq`, `prevHash`, `alg` and `keyId` are part of the sealed text. */
export function sealRecord(
  part: JsonObject,
  link: { readonly seq: number; readonly prevHash: string },
  key: SigningKey,
): SealedRecord {
  const fixed = { v: RECORD_VERSION, alg: SEAL_ALGORITHM, keyId: key.keyId }
  const record = canonicalJson({ ...part, ...link, ...fixed })
  const hash = hashOf(link.prevHash, record)
  return { record, hash, signature: key.sign(hash) }
}

/** Personal data of a record: what its row stores, and what its sealed text says instead. */
export interface Commitment {
  readonly stored: { readonly e164: string; readonly salt: string; readonly personal: string | null }
  readonly sealed: { readonly subject: string; readonly personalSha256: string | null }
}

/** Commits to a phone number, and to further data of the person if there is any. */
export function commitTo(e164: string, personal: JsonObject | null): Commitment {
  const salt = randomBytes(32).toString('hex')
  const text = personal === null ? null : canonicalJson(personal)
  const personalSha256 = text === null ? null : commitmentOf(salt, text)
  return {
    stored: { e164, salt, personal: text },
    sealed: { subject: commitmentOf(salt, e164), personalSha256 },
  }
}
