import type { Generated } from 'kysely'

/*
 * Times are Unix milliseconds, flags are 0 or 1, lists and objects are JSON text, in both SQLite and
 * PostgreSQL.
 */

export interface OrganizationRow {
  readonly id: string
  readonly name: string
  /** `transactional`, `promotional`, ... Null if not set; the compliance checks then assume promotional. */
  readonly senderClassification: string | null
  readonly createdAt: number
}

export interface UserRow {
  readonly id: string
  /** Lower case, unique. */
  readonly email: string
  readonly name: string
  /** `scrypt$N$r$p$salt$hash`, see access/secrets.ts. */
  readonly passwordHash: string
  readonly createdAt: number
  /** Time at which the address was verified. Sign-in requires a verified address. */
  readonly emailVerifiedAt: number | null
  /** 1 for staff of the service. Staff do not belong to an organization. */
  readonly staff: Generated<0 | 1>
}

export type Role = 'owner' | 'admin' | 'developer' | 'viewer' | 'billing'

export interface MemberRow {
  readonly organizationId: string
  readonly userId: string
  readonly role: Role
  readonly createdAt: number
}

export interface ApiKeyRow {
  readonly id: string
  readonly organizationId: string
  readonly environment: 'test' | 'live'
  readonly name: string
  /** JSON array, for example `["read","write"]`. */
  readonly scopes: string
  /** First 13 characters of the key, stored in plain text for display. */
  readonly start: string
  /** HMAC-SHA256 of the whole key (hex), unique. */
  readonly hash: string
  readonly createdBy: string
  readonly expiresAt: number | null
  /** Revoked keys are not listed. The hash is kept so that requests with them get `invalid_credentials`. */
  readonly revokedAt: number | null
  readonly lastUsedAt: number | null
  readonly createdAt: number
  /** Time until which a replaced key stays valid, regardless of `expiresAt`. */
  readonly overlapUntil: number | null
}

export interface IdempotencyRow {
  readonly id: string
  readonly organizationId: string
  readonly environment: 'test' | 'live'
  readonly method: string
  readonly path: string
  readonly key: string
  /** SHA-256 of the canonical body, or of the bytes of an upload (hex). Empty until an upload has arrived. */
  readonly fingerprint: string
  readonly state: 'running' | 'done' | 'free'
  /** Attempt that holds the lock. An attempt that exceeded its lease cannot finish the request of another. */
  readonly lock: string
  readonly lockedUntil: number
  readonly status: number | null
  /** Response body encrypted with AES-256-GCM (base64). */
  readonly response: string | null
  readonly createdAt: number
  readonly expiresAt: number
}

/** Tells whether a root key is the one of this database. */
export interface KeyCheckRow {
  readonly id: number
  /** Hexadecimal digits. */
  readonly digest: string
}

export interface IdentityTables {
  keyChecks: KeyCheckRow
  organizations: OrganizationRow
  users: UserRow
  members: MemberRow
  apiKeys: ApiKeyRow
  idempotencyKeys: IdempotencyRow
}
