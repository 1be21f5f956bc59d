/*
 * Times are Unix milliseconds, lists are JSON text, in both SQLite and PostgreSQL.
 */

export type FactorKind = 'totp' | 'passkey'

/** A second factor of an account. It counts once it is confirmed. */
export interface SecondFactorRow {
  readonly id: string
  readonly userId: string
  readonly kind: FactorKind
  readonly name: string
  /** Secret of a `totp` (base 32), encrypted with AES-256-GCM and bound to the id. */
  readonly sealed: string | null
  /** Time step of the last accepted code of a `totp` (RFC 6238). No code of it or of an earlier step is accepted. */
  readonly lastStep: number | null
  /** Credential ID of a `passkey` (base64url), unique. */
  readonly credentialId: string | null
  /** COSE public key of a `passkey` (base64url). */
  readonly publicKey: string | null
  /** Signature counter of a `passkey`. Most passkeys always send 0. */
  readonly counter: number | null
  /** JSON array of the transports of a `passkey`. */
  readonly transports: string | null
  /** Relying party of a `passkey`: the host name at which it was made. It works at no other. */
  readonly rpId: string | null
  /** Challenge of the registration of a `passkey` (base64url). Null once it is confirmed. */
  readonly challenge: string | null
  readonly createdAt: number
  /** End of the time in which it can be confirmed. Null once it is confirmed. */
  readonly expiresAt: number | null
  readonly confirmedAt: number | null
  readonly lastUsedAt: number | null
}

export interface RecoveryCodeRow {
  /** HMAC-SHA256 of the account and the code (hex). */
  readonly hash: string
  readonly userId: string
  readonly createdAt: number
  readonly usedAt: number | null
}

/** A request for a proof: at a sign-in whose password was right, or for a change in a session. */
export interface FactorChallengeRow {
  readonly id: string
  readonly userId: string
  /** Session of the change. Null for a sign-in. */
  readonly sessionId: string | null
  /** Challenge for passkeys (base64url). */
  readonly challenge: string
  /** Number of proofs that were tried. */
  readonly tries: number
  readonly createdAt: number
  readonly expiresAt: number
  readonly usedAt: number | null
}

/** An event of the factors of an account. A trigger rejects every change and removal. */
export interface AccountEventRow {
  readonly id: string
  readonly userId: string
  /** `user`, or `system` for the command line. */
  readonly actorType: string
  readonly actorId: string
  /** Value of `ACCOUNT_ACTIONS`. */
  readonly action: string
  /** Kind of the factor or of the proof. */
  readonly kind: string | null
  /** Name of the factor. */
  readonly name: string | null
  readonly requestId: string | null
  readonly createdAt: number
}

export interface FactorTables {
  secondFactors: SecondFactorRow
  recoveryCodes: RecoveryCodeRow
  factorChallenges: FactorChallengeRow
  accountEvents: AccountEventRow
}
