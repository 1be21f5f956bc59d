import { createPublicKey, type KeyObject, verify } from 'node:crypto'
import { commitmentOf, hashOf, keyIdOf } from './hashes.js'

/*
 * The verifier of sealed records (docs/evidence.md). It needs no database and no other code of the service.
 */

/** A record as it is stored and exported. */
export interface EvidenceLine {
  /** Canonical JSON of the sealed part. */
  readonly record: string
  readonly hash: string
  /** Base64. */
  readonly signature: string
  /** The personal data; all null once erased. */
  readonly e164: string | null
  readonly salt: string | null
  readonly personal: string | null
}

/** Position in a chain from which verification goes on. */
export interface ChainPosition {
  readonly seq: number
  readonly hash: string
  /** Raw Ed25519 public key (hex) in force. */
  readonly publicKey: string
}

export interface Problem {
  /** Number of the record. */
  readonly seq: number
  readonly code:
    | 'not_a_record'
    | 'records_missing'
    | 'wrong_position'
    | 'altered'
    | 'not_linked'
    | 'wrong_owner'
    | 'wrong_key'
    | 'wrong_signature'
    | 'person_altered'
    | 'person_missing'
    | 'decision_differs'
    | 'count_differs'
  /** A full sentence that names the place. */
  readonly message: string
}

/** The members of a sealed record that the verifier reads. */
export interface SealedPart {
  readonly v?: number
  readonly seq: number
  readonly prevHash: string
  readonly kind: string
  readonly keyId: string
  readonly organizationId?: string
  readonly environment: string
  readonly subject?: string | null
  readonly personalSha256?: string | null
  /** Kind `key`: the raw public key (hex) that signs the records after it. */
  readonly newPublicKey?: string
  /** Kind `erasure`: the numbers of the records whose personal data was erased. */
  readonly erased?: readonly number[]
  /** Kind `close`: the first record after the last one of this kind, and the records since by kind. */
  readonly firstSeq?: number
  readonly counts?: Readonly<Record<string, number>>
  readonly sealedAt?: string
  /** Kind `retention`: the last record that was removed, and its hash. */
  readonly throughSeq?: number
  readonly throughHash?: string
}

export interface ChainOwner {
  readonly organizationId: string
  readonly environment: string
}

const HEX_32 = /^[0-9a-f]{64}$/

/** Verifies the records of one chain in their order. After a problem it goes on with the record as it stands. */
export class ChainVerifier {
  /** Numbers of the records without personal data. Those of no erasure record are problems. */
  readonly #bare = new Set<number>()
  readonly #erased = new Set<number>()
  readonly #removed: { readonly seq: number; readonly hash: string }[] = []
  readonly #owner: ChainOwner
  /** Number of the first record that was taken since the last one of kind `close`. */
  #firstSeq: number
  /** True while the chain begins in the middle and no record of kind `close` was taken. */
  #beginningUnknown: boolean
  #counts = new Map<string, number>()
  #at: ChainPosition

  constructor(owner: ChainOwner, from: ChainPosition) {
    this.#owner = owner
    this.#at = from
    this.#firstSeq = from.seq + 1
    this.#beginningUnknown = from.seq > 0
  }

  /** The last record that was taken. */
  get at(): ChainPosition {
    return this.#at
  }

  /** Returns whether a retention record says that the records up to this one were removed. */
  isRemoved(seq: number, hash: string): boolean {
    return this.#removed.some((end) => end.seq === seq && end.hash === hash)
  }

  /** Verifies the next record. Returns its sealed part, null when it is not a record, and its problems. */
  take(line: EvidenceLine): { readonly sealed: SealedPart | null; readonly problems: readonly Problem[] } {
    const problems: Problem[] = []
    const expected = this.#at.seq + 1
    const sealed = sealedPart(line.record)
    const report = (code: Problem['code'], message: string, seq = sealed?.seq ?? expected): void => {
      problems.push({ seq, code, message })
    }
    if (sealed === null) {
      report('not_a_record', `The record at position ${expected} is not a sealed record.`)
      this.#at = { ...this.#at, seq: expected, hash: line.hash }
      return { sealed, problems }
    }
    const { seq } = sealed
    if (hashOf(sealed.prevHash, line.record) !== line.hash) {
      report('altered', `The text or the hash of record ${seq} was altered.`)
    }
    if (seq > expected) {
      const missing = seq - 1 === expected ? `Record ${expected} is` : `Records ${expected} to ${seq - 1} are`
      report('records_missing', `${missing} missing before record ${seq}.`, expected)
    } else if (seq < expected) {
      report('wrong_position', `Record ${seq} stands at the position of record ${expected}.`)
    } else if (sealed.prevHash !== this.#at.hash) {
      report('not_linked', `Record ${seq} does not follow record ${seq - 1}: it names another hash.`)
    }
    if (!this.#belongs(sealed)) report('wrong_owner', `Record ${seq} belongs to another chain.`)
    this.#checkSignature(sealed, line, report)
    this.#checkPerson(sealed, line, report)
    this.#count(sealed, report)
    // A record out of place does not move the position, so that the records after it are judged as before.
    if (seq >= expected) this.#at = { seq, hash: line.hash, publicKey: this.#keyAfter(sealed) }
    return { sealed, problems }
  }

  /** Returns the problems that only the whole chain shows. Call it after the last record. */
  finish(): readonly Problem[] {
    return [...this.#bare]
      .filter((seq) => !this.#erased.has(seq))
      .map((seq) => ({
        seq,
        code: 'person_missing',
        message: `The personal data of record ${seq} is missing, and no erasure record names it.`,
      }))
  }

  #belongs({ v, organizationId, environment }: SealedPart): boolean {
    const owner = this.#owner
    if (environment !== owner.environment) return false
    // Records of version 1 do not name the organization.
    return v === undefined || organizationId === owner.organizationId
  }

  #checkSignature(
    { seq, keyId }: SealedPart,
    { hash, signature }: EvidenceLine,
    report: (code: Problem['code'], message: string) => void,
  ): void {
    const { publicKey } = this.#at
    if (keyId !== keyIdOf(publicKey)) {
      report('wrong_key', `Record ${seq} names the key ${keyId}; the key in force is ${keyIdOf(publicKey)}.`)
      return
    }
    const bytes = Buffer.from(signature, 'base64')
    const exact = bytes.toString('base64') === signature
    if (!exact || !verify(null, Buffer.from(hash, 'hex'), keyObject(publicKey), bytes)) {
      report('wrong_signature', `The signature of record ${seq} does not verify with the key ${keyId}.`)
    }
  }

  #checkPerson(
    { seq, subject = null, personalSha256 = null, erased, throughSeq, throughHash }: SealedPart,
    { e164, salt, personal }: EvidenceLine,
    report: (code: Problem['code'], message: string) => void,
  ): void {
    for (const number of erased ?? []) this.#erased.add(number)
    if (throughSeq !== undefined && throughHash !== undefined) {
      this.#removed.push({ seq: throughSeq, hash: throughHash })
    }
    if (subject === null) return
    if (e164 === null && salt === null && personal === null) {
      this.#bare.add(seq)
      return
    }
    const complete = e164 !== null && salt !== null && (personal === null) === (personalSha256 === null)
    const same =
      complete &&
      // Hex digits of another case would be the same bytes.
      HEX_32.test(salt) &&
      commitmentOf(salt, e164) === subject &&
      (personal === null || commitmentOf(salt, personal) === personalSha256)
    if (!same) {
      report('person_altered', `The personal data of record ${seq} is not the data that was sealed.`)
    }
  }

  /** Counts the records since the last close, and compares the counts that a close states. */
  #count(
    { seq, kind, firstSeq, counts }: SealedPart,
    report: (code: Problem['code'], message: string) => void,
  ) {
    if (kind !== 'close') {
      this.#counts.set(kind, (this.#counts.get(kind) ?? 0) + 1)
      return
    }
    const own = this.#counts
    const known = !(this.#beginningUnknown && (firstSeq ?? 0) < this.#firstSeq)
    const same =
      Object.keys(counts ?? {}).length === own.size && [...own].every(([of, n]) => counts?.[of] === n)
    if (known && !(same && firstSeq === this.#firstSeq)) {
      report(
        'count_differs',
        `Record ${seq} counts other records than those between it and the close before it.`,
      )
    }
    this.#counts = new Map()
    this.#firstSeq = seq + 1
    this.#beginningUnknown = false
  }

  #keyAfter({ kind, newPublicKey }: SealedPart): string {
    const announced = kind === 'key' && newPublicKey !== undefined && HEX_32.test(newPublicKey)
    return announced ? newPublicKey : this.#at.publicKey
  }
}

function keyObject(publicKey: string): KeyObject {
  const x = Buffer.from(publicKey, 'hex').toString('base64url')
  return createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' })
}

function sealedPart(record: string): SealedPart | null {
  let parsed: unknown
  try {
    parsed = JSON.parse(record)
  } catch {
    return null // not JSON: not a sealed record
  }
  if (typeof parsed !== 'object' || parsed === null) return null
  const part = parsed as Partial<SealedPart>
  const { seq, prevHash, keyId, kind } = part
  const complete =
    Number.isSafeInteger(seq) &&
    [prevHash, keyId, kind, part.environment].every((text) => typeof text === 'string')
  return complete ? (parsed as SealedPart) : null
}
