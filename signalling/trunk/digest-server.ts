import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Clock } from '../../media/base/clock.js'
import { userOf } from '../sip/sip-uri.js'
import {
  algorithmOf,
  type DigestAlgorithm,
  type DigestFields,
  digestKey,
  digestResponse,
  parseDigests,
  quoted,
} from './digest.js'

export interface DigestServerOptions {
  readonly clock: Pick<Clock, 'now'>
  /** Lifetime of a nonce (ms). */
  readonly nonceLifeMs?: number
  /** Upper bound on remembered nonces. */
  readonly maxNonces?: number
}

/** Credentials of a request, as far as they can be read without knowing the user. */
export interface DigestClaim {
  readonly username: string
  readonly realm: string
  readonly fields: DigestFields
  readonly algorithm: DigestAlgorithm
  readonly session: boolean
}

export type DigestVerdict =
  | { readonly ok: true }
  /** `stale`: the password was right, but the nonce is no longer valid. */
  | { readonly ok: false; readonly stale: boolean }

const NONCE_LIFE_MS = 60_000
const MAX_NONCES = 50_000
/** A nonce consists of its creation time, random bytes, and a MAC over both and what it is for. */
const TIME_BYTES = 6
const RANDOM_BYTES = 9
const MARK_BYTES = 12
/** How far below the highest count a late message may still be (UDP reorders). */
const COUNT_WINDOW = 64

interface Use {
  readonly bornMs: number
  highest: number
  /** Bit i: count `highest - i` was used. */
  seen: bigint
}

/**
 * The server side of digest authentication. Nonces carry their own proof of origin, so that a flood of
 * requests without credentials needs no memory. Only nonces used with a right password are remembered, within
 * a bound, and each of their counts is accepted once (RFC 7616 3.3).
 */
export class DigestServer {
  readonly #clock: Pick<Clock, 'now'>
  readonly #lifeMs: number
  readonly #maxNonces: number
  /** Per process: nonces of another process are stale, not wrong. */
  readonly #secret = randomBytes(32)
  /** In order of first use. */
  readonly #uses = new Map<string, Use>()
  /** Nonces created up to this time (ms) were forgotten and are stale. */
  #forgottenMs = Number.NEGATIVE_INFINITY
  readonly #dummyKeys: Readonly<Record<DigestAlgorithm, string>>

  constructor(options: DigestServerOptions) {
    this.#clock = options.clock
    this.#lifeMs = options.nonceLifeMs ?? NONCE_LIFE_MS
    this.#maxNonces = options.maxNonces ?? MAX_NONCES
    const unknowable = randomBytes(16).toString('hex')
    this.#dummyKeys = {
      MD5: digestKey('MD5', '', '', unknowable),
      'SHA-256': digestKey('SHA-256', '', '', unknowable),
    }
  }

  /** Number of remembered nonces. */
  get size(): number {
    return this.#uses.size
  }

  /**
   * Returns a value of `WWW-Authenticate` with a fresh nonce. It offers one algorithm only: many clients read
   * no more than the first challenge, and intermediaries may merge several. A nonce for a `place` is valid only
   * in requests from there, which proves that the client receives what is sent to it.
   */
  challenge(realm: string, algorithm: DigestAlgorithm, stale: boolean, place = ''): string {
    const parts = [
      `Digest realm=${quoted(realm)}`,
      `nonce=${quoted(this.#nonce(scopeOf(realm, place), this.#clock.now()))}`,
      `algorithm=${algorithm}`,
      'qop="auth"',
    ]
    return [...parts, ...(stale ? ['stale=true'] : [])].join(', ')
  }

  /**
   * Returns the first readable credentials of an `Authorization` value whose realm is accepted by `realms`;
   * null when there are none.
   */
  claim(header: string, realms: (realm: string) => boolean): DigestClaim | null {
    for (const fields of parseDigests(header)) {
      const { username, realm, nonce, uri, response } = fields
      const named = algorithmOf(fields.algorithm)
      if (username === undefined || realm === undefined || named === null) continue
      if (nonce === undefined || uri === undefined || response === undefined) continue
      if (realms(realm)) return { username, realm, fields, ...named }
    }
    return null
  }

  /**
   * Returns whether the nonce of a claim was made here for that place and is not too old. Check this before the
   * look-up of the user: then only a receiver of a challenge causes look-ups.
   */
  isFresh({ fields, realm }: DigestClaim, place: string): boolean {
    const bornMs = this.#bornMs(fields.nonce ?? '', scopeOf(realm, place))
    return bornMs !== null && bornMs > this.#forgottenMs && this.#clock.now() - bornMs <= this.#lifeMs
  }

  /**
   * Checks a claim for one request. A null `password` means that there is no such user: the same work is
   * done, with the result of a wrong password. `request.uri` is that of the request line.
   */
  verify(
    claim: DigestClaim,
    password: string | null,
    request: {
      readonly method: string
      readonly uri: string
      readonly body: string
      readonly place?: string
    },
  ): DigestVerdict {
    const { fields, algorithm, session, realm, username } = claim
    const { nonce = '', uri = '', cnonce = '', nc = '' } = fields
    const qop = (fields.qop ?? '').toLowerCase()
    const wellFormed =
      (qop === '' && !session) ||
      ((qop === 'auth' || qop === 'auth-int') &&
        cnonce !== '' &&
        /^[0-9a-f]{8}$/i.test(nc) &&
        nc !== '00000000')
    const known = password !== null
    const key = known ? digestKey(algorithm, username, realm, password) : this.#dummyKeys[algorithm]
    const expected = digestResponse(algorithm, key, {
      method: request.method,
      uri,
      nonce,
      qop: qop === 'auth' || qop === 'auth-int' ? qop : '',
      nonceCount: nc,
      cnonce,
      body: request.body,
      session,
    })
    const right = sameText(expected, (fields.response ?? '').toLowerCase())
    // A proxy may have changed the Request-URI, and some clients digest the host alone (RFC 3261 22.4 does
    // not require equality). Credentials made for another called party are refused.
    const called = userOf(uri)
    const samePlace = called === '' || called === userOf(request.uri)
    if (!wellFormed || !known || !right || !samePlace) return { ok: false, stale: false }
    const count = qop === '' ? 1 : Number.parseInt(nc, 16)
    return this.#use(nonce, scopeOf(realm, request.place ?? ''), count, qop === '')
  }

  #nonce(scope: string, bornMs: number): string {
    const head = Buffer.alloc(TIME_BYTES + RANDOM_BYTES)
    // Milliseconds of the monotonic clock fit into 48 bits for thousands of years.
    head.writeUIntBE(Math.max(0, Math.floor(bornMs)), 0, TIME_BYTES)
    randomBytes(RANDOM_BYTES).copy(head, TIME_BYTES)
    return Buffer.concat([head, this.#mark(head, scope)]).toString('base64url')
  }

  #mark(head: Buffer, scope: string): Buffer {
    return createHmac('sha256', this.#secret).update(head).update(scope).digest().subarray(0, MARK_BYTES)
  }

  /** Returns the creation time (ms) of our own nonce for that realm and place; null for any other text. */
  #bornMs(nonce: string, scope: string): number | null {
    const bytes = Buffer.from(nonce, 'base64url')
    if (bytes.length !== TIME_BYTES + RANDOM_BYTES + MARK_BYTES) return null
    if (bytes.toString('base64url') !== nonce) return null
    const head = bytes.subarray(0, TIME_BYTES + RANDOM_BYTES)
    if (!timingSafeEqual(this.#mark(head, scope), bytes.subarray(TIME_BYTES + RANDOM_BYTES))) return null
    return head.readUIntBE(0, TIME_BYTES)
  }

  #use(nonce: string, scope: string, count: number, once: boolean): DigestVerdict {
    const bornMs = this.#bornMs(nonce, scope)
    if (bornMs === null || bornMs <= this.#forgottenMs) return { ok: false, stale: true }
    if (this.#clock.now() - bornMs > this.#lifeMs) return { ok: false, stale: true }
    const use = this.#uses.get(nonce)
    if (use === undefined) {
      this.#makeRoom()
      this.#uses.set(nonce, { bornMs, highest: count, seen: 1n })
      return { ok: true }
    }
    // Without a nonce count, a repetition cannot be told from a replay: one use only.
    if (once) return { ok: false, stale: true }
    if (count > use.highest) {
      const shift = Math.min(count - use.highest, COUNT_WINDOW)
      use.seen = BigInt.asUintN(COUNT_WINDOW, (use.seen << BigInt(shift)) | 1n)
      use.highest = count
      return { ok: true }
    }
    const bit = 1n << BigInt(Math.min(use.highest - count, COUNT_WINDOW))
    if (use.highest - count >= COUNT_WINDOW || (use.seen & bit) !== 0n) return { ok: false, stale: true }
    use.seen |= bit
    return { ok: true }
  }

  /** Forgets expired nonces; when all are alive, the oldest and all that were created before it. */
  #makeRoom(): void {
    const now = this.#clock.now()
    for (const [nonce, use] of this.#uses) {
      const expired = now - use.bornMs > this.#lifeMs
      if (!expired && this.#uses.size < this.#maxNonces) return
      if (!expired) this.#forgottenMs = Math.max(this.#forgottenMs, use.bornMs)
      this.#uses.delete(nonce)
    }
  }
}

/** Returns what a nonce is made for. */
function scopeOf(realm: string, place: string): string {
  return place === '' ? realm : `${realm}\n${place}`
}

function sameText(a: string, b: string): boolean {
  const left = Buffer.from(a)
  const right = Buffer.from(b)
  return left.length === right.length && timingSafeEqual(left, right)
}
