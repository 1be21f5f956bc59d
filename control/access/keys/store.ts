import type { Environment, Scope } from '../../api/actor.js'
import { newestFirst, type Page, type PageRequest } from '../../api/pagination.js'
import type { Db, Trx } from '../../db/database.js'
import type { ApiKeyRow } from '../../db/tables/identity.js'
import { keyExpiry } from './api-keys.js'

export interface KeyOwner {
  readonly organizationId: string
  readonly environment: Environment
}

/** Returns a key of the environment that was not deleted, or null. */
export async function findKey(db: Db | Trx, owner: KeyOwner, id: string): Promise<ApiKeyRow | null> {
  return (await kept(db, owner).where('id', '=', id).executeTakeFirst()) ?? null
}

/** Lists keys, newest first. */
export async function listKeys(db: Db, owner: KeyOwner, page: PageRequest): Promise<Page<ApiKeyRow>> {
  return newestFirst(kept(db, owner), page)
}

/** Replaces the scopes if they are still as `seen`. Returns null when they are not. */
export async function narrowKey(
  db: Db | Trx,
  owner: KeyOwner,
  seen: Pick<ApiKeyRow, 'id' | 'scopes'>,
  scopes: readonly Scope[],
): Promise<ApiKeyRow | null> {
  const row = await db
    .updateTable('apiKeys')
    .set({ scopes: JSON.stringify(scopes) })
    .where('id', '=', seen.id)
    .where('scopes', '=', seen.scopes)
    .where('organizationId', '=', owner.organizationId)
    .where('environment', '=', owner.environment)
    .where('revokedAt', 'is', null)
    .returningAll()
    .executeTakeFirst()
  return row ?? null
}

/**
 * Ends a key at `until`, or earlier if it expires before. It takes the place of an end that was set before. Returns null
 * when the key has ended already.
 */
export async function expireKeyAt(
  trx: Trx,
  owner: KeyOwner,
  id: string,
  until: number,
  now: number,
): Promise<ApiKeyRow | null> {
  const row = await trx
    .updateTable('apiKeys')
    .set({ overlapUntil: until })
    .where('id', '=', id)
    .where('organizationId', '=', owner.organizationId)
    .where('environment', '=', owner.environment)
    .where('revokedAt', 'is', null)
    .where((eb) => eb.or([eb('expiresAt', 'is', null), eb('expiresAt', '>', now)]))
    .where((eb) => eb.or([eb('overlapUntil', 'is', null), eb('overlapUntil', '>', now)]))
    .returningAll()
    .executeTakeFirst()
  return row ?? null
}

/** Revokes a key at once. Returns false when there is none. Its hash stays, so that its use is recognised. */
export async function revokeKey(db: Db | Trx, owner: KeyOwner, id: string, now: number): Promise<boolean> {
  const row = await db
    .updateTable('apiKeys')
    .set({ revokedAt: now })
    .where('id', '=', id)
    .where('organizationId', '=', owner.organizationId)
    .where('environment', '=', owner.environment)
    .where('revokedAt', 'is', null)
    .returning('id')
    .executeTakeFirst()
  return row !== undefined
}

/** Returns whether a key works at `now`, regardless of its creator's role. */
export function isEnabled(row: ApiKeyRow, now: number): boolean {
  const end = keyExpiry(row)
  return row.revokedAt === null && (end === null || end > now)
}

function kept(db: Db | Trx, { organizationId, environment }: KeyOwner) {
  return db
    .selectFrom('apiKeys')
    .selectAll()
    .where('organizationId', '=', organizationId)
    .where('environment', '=', environment)
    .where('revokedAt', 'is', null)
}
