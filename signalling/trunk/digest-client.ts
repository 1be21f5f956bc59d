import { randomBytes } from 'node:crypto'
import {
  algorithmOf,
  type DigestAlgorithm,
  type DigestFields,
  digestKey,
  digestResponse,
  parseDigests,
  quoted,
} from './digest.js'

export interface Credentials {
  readonly username: string
  readonly password: string
}

/** The parts of a request that a digest covers. */
export interface DigestedRequest {
  readonly method: string
  /** The Request-URI exactly as sent. */
  readonly uri: string
  readonly body: string
}

/** A header to add to the repeated request. */
export interface AuthorizationHeader {
  readonly name: 'Authorization' | 'Proxy-Authorization'
  readonly value: string
}

interface Challenge {
  readonly realm: string
  readonly nonce: string
  readonly opaque: string | undefined
  readonly algorithm: DigestAlgorithm
  readonly session: boolean
  readonly qop: 'auth' | 'auth-int' | ''
  /** As received: some servers compare the text. */
  readonly algorithmName: string | undefined
  /** Number of requests that used this nonce. */
  count: number
  /** A request with this nonce succeeded: a later refusal then means that the nonce is too old. */
  proven: boolean
}

/** More rounds than a proxy and a server need together; a server that asks for more never stops. */
const MAX_ANSWERS = 4
/** Preferred first (RFC 8760 2.4 leaves the choice to the client). */
const STRENGTH: readonly DigestAlgorithm[] = ['SHA-256', 'MD5']

/**
 * Answers the challenges of one INVITE, or of one registration over its life. Keeps the last challenge of
 * proxies and of the server separately, counts nonce use, and gives up when the credentials themselves were
 * refused.
 */
export class DigestClient {
  readonly #credentials: Credentials
  readonly #makeCnonce: () => string
  readonly #current = new Map<401 | 407, Challenge>()
  #answers = 0

  constructor(credentials: Credentials, makeCnonce = () => randomBytes(12).toString('hex')) {
    this.#credentials = credentials
    this.#makeCnonce = makeCnonce
  }

  /**
   * Takes a challenge. Returns true when the request should be repeated with `headers()`; false when no
   * challenge can be answered, or when the credentials just sent were refused (no `stale`).
   */
  onChallenge(status: 401 | 407, header: string): boolean {
    if (this.#answers >= MAX_ANSWERS) return false
    const offered = parseDigests(header).flatMap((fields) => {
      const challenge = challengeOf(fields)
      return challenge === null ? [] : [{ challenge, stale: /^true$/i.test(fields.stale ?? '') }]
    })
    const best = STRENGTH.flatMap((algorithm) =>
      offered.filter(({ challenge }) => challenge.algorithm === algorithm),
    )[0]
    if (best === undefined) return false
    const previous = this.#current.get(status)
    // The same realm challenges again after an answer: the password is wrong, unless only the nonce was old.
    if (
      previous !== undefined &&
      previous.count > 0 &&
      !previous.proven &&
      previous.realm === best.challenge.realm &&
      !best.stale
    ) {
      this.#current.delete(status)
      return false
    }
    this.#answers++
    this.#current.set(status, best.challenge)
    return true
  }

  /**
   * Returns the headers for a request, one per known challenger; none before the first challenge. Each call
   * uses the nonces once more.
   */
  headers(request: DigestedRequest): AuthorizationHeader[] {
    return [...this.#current].map(([status, challenge]) => ({
      name: status === 407 ? 'Proxy-Authorization' : 'Authorization',
      value: this.#answer(challenge, request),
    }))
  }

  /** Records that a request succeeded: a later challenge then asks for a newer nonce. */
  onAccepted(): void {
    this.#answers = 0
    for (const challenge of this.#current.values()) challenge.proven = true
  }

  #answer(challenge: Challenge, { method, uri, body }: DigestedRequest): string {
    const { username, password } = this.#credentials
    const { realm, nonce, opaque, algorithm, session, qop } = challenge
    challenge.count++
    const nonceCount = challenge.count.toString(16).padStart(8, '0')
    const cnonce = qop === '' && !session ? '' : this.#makeCnonce()
    const response = digestResponse(algorithm, digestKey(algorithm, username, realm, password), {
      method,
      uri,
      nonce,
      qop,
      nonceCount,
      cnonce,
      body,
      session,
    })
    const parts = [
      `username=${quoted(username)}`,
      `realm=${quoted(realm)}`,
      `nonce=${quoted(nonce)}`,
      `uri=${quoted(uri)}`,
      `response=${quoted(response)}`,
    ]
    if (challenge.algorithmName !== undefined) parts.push(`algorithm=${challenge.algorithmName}`)
    if (cnonce !== '') parts.push(`cnonce=${quoted(cnonce)}`)
    if (qop !== '') parts.push(`qop=${qop}`, `nc=${nonceCount}`)
    if (opaque !== undefined) parts.push(`opaque=${quoted(opaque)}`)
    return `Digest ${parts.join(', ')}`
  }
}

function challengeOf(fields: DigestFields): Challenge | null {
  const { realm, nonce, opaque } = fields
  const named = algorithmOf(fields.algorithm)
  if (realm === undefined || nonce === undefined || named === null) return null
  const offered = fields.qop?.split(',').map((qop) => qop.trim().toLowerCase())
  const qop =
    offered === undefined
      ? ''
      : offered.includes('auth')
        ? 'auth'
        : offered.includes('auth-int')
          ? 'auth-int'
          : null
  if (qop === null) return null
  return { realm, nonce, opaque, ...named, qop, algorithmName: fields.algorithm, count: 0, proven: false }
}
