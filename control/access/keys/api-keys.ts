import type { Clock } from '../../../media/base/clock.js'
import { newId } from '../../../media/base/ids.js'
import type { Environment, KeyActor, Scope } from '../../api/actor.js'
import { type Refusal, refuse } from '../../api/problem.js'
import { effectiveScopes, expandScopes, parseScopes } from '../../api/scopes.js'
import { constantTimeEqual } from '../../base/crypto.js'
import type { RootKey } from '../../base/root-key.js'
import type { Db, Trx } from '../../db/database.js'
import type { ApiKeyRow } from '../../db/tables/identity.js'
import { keyEnvironment, keyHash, keyStart, newKey } from './key-format.js'
import type { LastUsedWriter } from './last-used.js'

export interface NewKey {
  readonly organizationId: string
  /** The user whose role limits the key. */
  readonly createdBy: string
  readonly environment: Environment
  readonly name: string
  readonly scopes: readonly Scope[]
  readonly expiresAt: number | null
}

export interface CreatedKey {
  readonly id: string
  /** The full secret. It is not stored, so show it now. */
  readonly key: string
  readonly scopes: readonly Scope[]
}

/** Stores a new key with the requested scopes and those they imply. The creator's role limits them on use. */
export async function createKey(
  db: Db | Trx,
  rootKey: RootKey,
  clock: Clock,
  wanted: NewKey,
): Promise<CreatedKey> {
  const key = newKey(wanted.environment)
  const now = clock.wall()
  const id = newId('key', now)
  const scopes = expandScopes(wanted.scopes)
  await db
    .insertInto('apiKeys')
    .values({
      id,
      organizationId: wanted.organizationId,
      environment: wanted.environment,
      name: wanted.name,
      scopes: JSON.stringify(scopes),
      start: keyStart(key),
      hash: keyHash(rootKey.subkey('api-key-hash'), key),
      createdBy: wanted.createdBy,
      expiresAt: wanted.expiresAt,
      revokedAt: null,
      lastUsedAt: null,
      createdAt: now,
    })
    .execute()
  return { id, key, scopes }
}

/** Dependencies of `authenticate`. */
export interface KeyVerifier {
  readonly db: Db
  readonly rootKey: RootKey
  readonly clock: Clock
  readonly lastUsed: LastUsedWriter
}

export type AuthFailure = Refusal<'unauthenticated' | 'invalid_credentials'>

/**
 * Authenticates an `Authorization` header. Refuses unknown and malformed keys with `unauthenticated`, revoked
 * and expired keys with `invalid_credentials`. A key whose creator has left the organization has no scopes.
 */
export async function authenticate(
  verifier: KeyVerifier,
  header: string | undefined,
): Promise<KeyActor | AuthFailure> {
  if (header === undefined) {
    return unauthenticated('Send your API key in the Authorization header: Bearer <API_KEY>.')
  }
  const key = /^Bearer +(\S+) *$/i.exec(header)?.[1]
  if (key === undefined) {
    return unauthenticated('The Authorization header must have the form: Bearer <API_KEY>.')
  }
  const environment = keyEnvironment(key)
  if (environment === null) return unauthenticated('The API key is malformed.')
  const hashes = keyHashes(verifier.rootKey, key)
  const row = await verifier.db
    .selectFrom('apiKeys as k')
    .leftJoin('members as m', (join) =>
      join.onRef('m.organizationId', '=', 'k.organizationId').onRef('m.userId', '=', 'k.createdBy'),
    )
    .where('k.hash', 'in', hashes)
    .select([
      'k.id',
      'k.hash',
      'k.organizationId',
      'k.environment',
      'k.scopes',
      'k.expiresAt',
      'k.overlapUntil',
      'k.revokedAt',
      'm.role',
    ])
    .executeTakeFirst()
  const found = row !== undefined && hashes.some((hash) => constantTimeEqual(row.hash, hash))
  if (!found || row.environment !== environment) return unauthenticated('The API key is unknown.')
  if (row.revokedAt !== null) return refuse('invalid_credentials', 'The API key was revoked.')
  const until = keyExpiry(row)
  if (until !== null && until <= verifier.clock.wall()) {
    return refuse('invalid_credentials', 'The API key has expired.')
  }
  await renewHash(verifier.db, row, hashes)
  verifier.lastUsed.record(row.id)
  return {
    kind: 'key',
    keyId: row.id,
    organizationId: row.organizationId,
    environment,
    scopes: effectiveScopes(parseScopes(row.scopes), row.role),
  }
}

/** Returns the hashes under which a key may be stored: of the current root key, then of earlier ones. */
export function keyHashes(rootKey: RootKey, key: string): readonly string[] {
  return [rootKey, ...rootKey.previous].map((root) => keyHash(root.subkey('api-key-hash'), key))
}

/** Replaces a hash of an earlier root key by one of the current root key. */
async function renewHash(
  db: Db,
  row: Pick<ApiKeyRow, 'id' | 'hash'>,
  [current]: readonly string[],
): Promise<void> {
  if (current === undefined || row.hash === current) return
  await db
    .updateTable('apiKeys')
    .set({ hash: current })
    .where('id', '=', row.id)
    .where('hash', '=', row.hash)
    .execute()
}

/**
 * Returns the time at which a key stops working: its expiry, or the end of its overlap after a roll. Returns
 * null when it never does.
 */
export function keyExpiry(row: Pick<ApiKeyRow, 'expiresAt' | 'overlapUntil'>): number | null {
  if (row.expiresAt === null || row.overlapUntil === null) return row.expiresAt ?? row.overlapUntil
  return Math.min(row.expiresAt, row.overlapUntil)
}

function unauthenticated(message: string): AuthFailure {
  return refuse('unauthenticated', message)
}
