import type { Generated, Kysely } from 'kysely'

/*
 * Times are Unix milliseconds, flags 0/1, lists and objects JSON text: the same on both engines.
 */

export interface OrganizationRow {
  readonly id: string
  readonly name: string
  /** `transactional`, `promotional`, ... or null while unset (the gate then assumes promotional). */
  readonly senderClassification: string | null
  readonly createdAt: number
}

export interface UserRow {
  readonly id: string
  /** Lower case; unique. */
  readonly email: string
  readonly name: string
  /** `scrypt$N$r$p$salt$hash`, see access/secrets.ts. */
  readonly passwordHash: string
  readonly createdAt: number
  /** When the address was proved; nobody signs in before. */
  readonly emailVerifiedAt: number | null
  /** 1: belongs to the service's staff, and to no organization. */
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
  /** First 13 characters, readable always. */
  readonly start: string
  /** HMAC-SHA256 of the whole key, hex; unique. */
  readonly hash: string
  readonly createdBy: string
  readonly expiresAt: number | null
  /** Deleted keys leave the reads; the hash stays so that use is answered `invalid_credentials`. */
  readonly revokedAt: number | null
  readonly lastUsedAt: number | null
  readonly createdAt: number
  /** After a roll: until when this old key still works, whatever `expiresAt` says. */
  readonly overlapUntil: number | null
}

export interface IdempotencyRow {
  readonly id: string
  readonly organizationId: string
  readonly environment: 'test' | 'live'
  readonly method: string
  readonly path: string
  readonly key: string
  /** SHA-256 of the canonical body, hex. */
  readonly fingerprint: string
  readonly state: 'running' | 'done' | 'free'
  /** Which attempt holds the lock, so that one that overran its lease cannot finish another's. */
  readonly lock: string
  readonly lockedUntil: number
  readonly status: number | null
  /** AES-256-GCM of the response body, base64. */
  readonly response: string | null
  readonly createdAt: number
  readonly expiresAt: number
}

export interface IdentityTables {
  organizations: OrganizationRow
  users: UserRow
  members: MemberRow
  apiKeys: ApiKeyRow
  idempotencyKeys: IdempotencyRow
}

/** Migration 0001: who may call, and what was already answered. */
export async function createIdentityTables(db: Kysely<unknown>): Promise<void> {
  const { schema } = db
  await schema
    .createTable('organizations')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('name', 'text', (c) => c.notNull())
    .addColumn('senderClassification', 'text')
    .addColumn('createdAt', 'bigint', (c) => c.notNull())
    .execute()
  await schema
    .createTable('users')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('email', 'text', (c) => c.notNull().unique())
    .addColumn('name', 'text', (c) => c.notNull())
    .addColumn('passwordHash', 'text', (c) => c.notNull())
    .addColumn('createdAt', 'bigint', (c) => c.notNull())
    .execute()
  await schema
    .createTable('members')
    .addColumn('organizationId', 'text', (c) => c.notNull().references('organizations.id'))
    .addColumn('userId', 'text', (c) => c.notNull().references('users.id'))
    .addColumn('role', 'text', (c) => c.notNull())
    .addColumn('createdAt', 'bigint', (c) => c.notNull())
    .addPrimaryKeyConstraint('membersKey', ['organizationId', 'userId'])
    .execute()
  await schema
    .createTable('apiKeys')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('organizationId', 'text', (c) => c.notNull().references('organizations.id'))
    .addColumn('environment', 'text', (c) => c.notNull())
    .addColumn('name', 'text', (c) => c.notNull())
    .addColumn('scopes', 'text', (c) => c.notNull())
    .addColumn('start', 'text', (c) => c.notNull())
    .addColumn('hash', 'text', (c) => c.notNull().unique())
    .addColumn('createdBy', 'text', (c) => c.notNull().references('users.id'))
    .addColumn('expiresAt', 'bigint')
    .addColumn('revokedAt', 'bigint')
    .addColumn('lastUsedAt', 'bigint')
    .addColumn('createdAt', 'bigint', (c) => c.notNull())
    .execute()
  await schema
    .createTable('idempotencyKeys')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('organizationId', 'text', (c) => c.notNull().references('organizations.id'))
    .addColumn('environment', 'text', (c) => c.notNull())
    .addColumn('method', 'text', (c) => c.notNull())
    .addColumn('path', 'text', (c) => c.notNull())
    .addColumn('key', 'text', (c) => c.notNull())
    .addColumn('fingerprint', 'text', (c) => c.notNull())
    .addColumn('state', 'text', (c) => c.notNull())
    .addColumn('lock', 'text', (c) => c.notNull())
    .addColumn('lockedUntil', 'bigint', (c) => c.notNull())
    .addColumn('status', 'integer')
    .addColumn('response', 'text')
    .addColumn('createdAt', 'bigint', (c) => c.notNull())
    .addColumn('expiresAt', 'bigint', (c) => c.notNull())
    .addUniqueConstraint('idempotencyScope', ['organizationId', 'environment', 'method', 'path', 'key'])
    .execute()
  await schema.createIndex('idempotencyExpiry').on('idempotencyKeys').column('expiresAt').execute()
}
