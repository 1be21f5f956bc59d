import {
  createHash,
  createHmac,
  createPrivateKey,
  createPublicKey,
  KeyObject,
  sign,
  verify,
} from 'node:crypto'
import { canonicalJson, type Json } from '../base/canonical-json.js'
import type { RootKey } from '../base/root-key.js'

/*
 * Sealed records: a hash chain per organization and environment, with a signature on each link. The sealed
 * part is the record as canonical JSON. `hash` is SHA-256 over the UTF-8 text `prevHash` + that JSON; the
 * signature is Ed25519 over the 32 bytes of the hash. The sealed part identifies the person by a keyed
 * pseudonym, so that erasing the phone number from the row leaves the chain valid.
 */

export const GENESIS_HASH = '0'.repeat(64)
export const SEAL_ALGORITHM = 'sha256-jcs'

export interface EvidenceKeys {
  /** First 16 hex digits of SHA-256 over the raw public key. */
  readonly keyId: string
  readonly publicKey: KeyObject
  /** The public keys of the current and of earlier root keys, any of which may have signed a record. */
  readonly verifyingKeys: readonly KeyObject[]
  sign(hash: string): string
  /**
   * Returns a pseudonym of a phone number. It is stable within an organization and differs between
   * organizations.
   */
  pseudonym(organizationId: string, e164: string): string
}

export interface SealedRecord {
  /** Canonical JSON of the sealed part. */
  readonly record: string
  readonly hash: string
  /** Base64. */
  readonly signature: string
}

/** A link of the chain as it is stored. */
export interface ChainLink extends SealedRecord {
  readonly seq: number
  readonly prevHash: string
}

// RFC 8410: PKCS#8 wrapping of a 32-byte Ed25519 seed.
const PKCS8_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex')

export function openEvidenceKeys(rootKey: RootKey): EvidenceKeys {
  const privateKey = signingKey(rootKey)
  const publicKey = createPublicKey(privateKey)
  const raw = Buffer.from(publicKey.export({ format: 'jwk' }).x ?? '', 'base64url')
  return {
    keyId: createHash('sha256').update(raw).digest('hex').slice(0, 16),
    publicKey,
    verifyingKeys: [publicKey, ...rootKey.previous.map((root) => createPublicKey(signingKey(root)))],
    sign: (hash) => sign(null, Buffer.from(hash, 'hex'), privateKey).toString('base64'),
    pseudonym: (organizationId, e164) =>
      createHmac('sha256', rootKey.subkey('evidence-e164', organizationId)).update(e164).digest('hex'),
  }
}

function signingKey(rootKey: RootKey): KeyObject {
  return createPrivateKey({
    key: Buffer.concat([PKCS8_PREFIX, rootKey.subkey('evidence-signing')]),
    format: 'der',
    type: 'pkcs8',
  })
}

/**
 * Seals a record that follows `prevHash`. `seq`, `prevHash`, `alg` and `keyId` are part of the sealed text.
 */
export function sealRecord(
  part: { readonly [key: string]: Json },
  link: { readonly seq: number; readonly prevHash: string },
  keys: EvidenceKeys,
): SealedRecord {
  const record = canonicalJson({ ...part, ...link, alg: SEAL_ALGORITHM, keyId: keys.keyId })
  const hash = hashOf(link.prevHash, record)
  return { record, hash, signature: keys.sign(hash) }
}

export type ChainVerdict =
  | { readonly valid: true; readonly seq: number; readonly hash: string }
  | { readonly valid: false; readonly brokenAt: number; readonly why: string }

/**
 * Verifies links in order of `seq`: number, linkage, hash and signature. `from` is the starting point: the
 * genesis, or a link verified before.
 */
export function verifyChain(
  links: Iterable<ChainLink>,
  signers: KeyObject | readonly KeyObject[],
  from: { readonly seq: number; readonly hash: string } = { seq: 0, hash: GENESIS_HASH },
): ChainVerdict {
  let { seq, hash } = from
  const keys = signers instanceof KeyObject ? [signers] : signers
  for (const link of links) {
    const broken = (why: string): ChainVerdict => ({ valid: false, brokenAt: seq + 1, why })
    if (link.seq !== seq + 1) return broken('a link is missing')
    if (link.prevHash !== hash) return broken('not linked to the one before')
    if (hashOf(link.prevHash, link.record) !== link.hash) return broken('the record was altered')
    const sealed = sealedPosition(link.record)
    if (sealed?.seq !== link.seq || sealed.prevHash !== link.prevHash) return broken('the record was moved')
    const signature = Buffer.from(link.signature, 'base64')
    if (!keys.some((key) => verify(null, Buffer.from(link.hash, 'hex'), key, signature))) {
      return broken('the signature does not verify')
    }
    seq = link.seq
    hash = link.hash
  }
  return { valid: true, seq, hash }
}

function hashOf(prevHash: string, record: string): string {
  return createHash('sha256').update(prevHash).update(record).digest('hex')
}

function sealedPosition(record: string): { seq: unknown; prevHash: unknown } | null {
  try {
    const parsed: unknown = JSON.parse(record)
    if (typeof parsed !== 'object' || parsed === null) return null
    return {
      seq: 'seq' in parsed ? parsed.seq : undefined,
      prevHash: 'prevHash' in parsed ? parsed.prevHash : undefined,
    }
  } catch {
    return null // not JSON: not a sealed record
  }
}
