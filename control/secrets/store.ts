import { newId } from '../../media/base/ids.js'
import { newestFirst, type Page, type PageRequest } from '../api/pagination.js'
import type { Db, Trx } from '../db/database.js'
import { changedIds, deleteOwned, findOwned, unknownIds } from '../db/owned-rows.js'
import type { SecretRow } from '../db/tables/organization.js'
import type { Vault } from './vault.js'

/** Object that refers to a secret and prevents its deletion. */
export interface SecretUser {
  readonly type: string
  readonly id: string
}

/** Maximum number of users of a secret that are listed. */
export const MAX_LISTED_USERS = 100

/** Minimum length of values whose last four characters are shown. */
const SHOWN_FROM = 12

/** Inserts a secret. Returns null if the name is taken. */
export async function insertSecret(
  trx: Trx,
  vault: Vault,
  secret: {
    readonly organizationId: string
    readonly name: string
    readonly value: string
    /** Hosts that the secret may be sent to (hosts.ts). */
    readonly hosts: readonly string[]
    readonly createdBy: string
  },
  now: number,
): Promise<SecretRow | null> {
  const { value, hosts, ...row } = secret
  const id = newId('sec', now)
  const sealed = { ...vault.seal(value, id), last4: last4(value) }
  const stored = await trx
    .insertInto('secrets')
    .values({ ...row, id, ...sealed, hosts: JSON.stringify(hosts), createdAt: now, updatedAt: now })
    .onConflict((conflict) => conflict.columns(['organizationId', 'name']).doNothing())
    .returningAll()
    .executeTakeFirst()
  return stored ?? null
}

/** Replaces the value, the hosts, or both. Returns null if the secret does not exist. */
export async function updateSecret(
  trx: Trx,
  vault: Vault,
  organizationId: string,
  id: string,
  change: { readonly value?: string | undefined; readonly hosts?: readonly string[] | undefined },
  now: number,
): Promise<SecretRow | null> {
  const { value, hosts } = change
  const row = await trx
    .updateTable('secrets')
    .set({
      ...(value === undefined ? {} : { ...vault.seal(value, id), last4: last4(value) }),
      ...(hosts === undefined ? {} : { hosts: JSON.stringify(hosts) }),
      updatedAt: now,
    })
    .where('organizationId', '=', organizationId)
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirst()
  return row ?? null
}

export function findSecret(db: Db | Trx, organizationId: string, id: string): Promise<SecretRow | null> {
  return findOwned(db, 'secrets', organizationId, id)
}

/**
 * Deletes a secret. Returns null if it does not exist. Rejects with a foreign key violation while it is in
 * use.
 */
export function deleteSecret(trx: Trx, organizationId: string, id: string): Promise<SecretRow | null> {
  return deleteOwned(trx, 'secrets', organizationId, id)
}

/** Returns the ids that are not secrets of the organization. */
export function unknownSecrets(
  db: Db | Trx,
  organizationId: string,
  ids: readonly string[],
): Promise<readonly string[]> {
  return unknownIds(db, 'secrets', organizationId, ids)
}

/** Returns a page of secrets, newest first. */
export async function listSecrets(
  db: Db,
  organizationId: string,
  page: PageRequest,
): Promise<Page<SecretRow>> {
  return newestFirst(db.selectFrom('secrets').selectAll().where('organizationId', '=', organizationId), page)
}

/** Returns the first objects that use each of the secrets, at most `MAX_LISTED_USERS` of each. */
export async function findSecretUsers(
  db: Db | Trx,
  secretIds: readonly string[],
): Promise<ReadonlyMap<string, readonly SecretUser[]>> {
  const users = new Map<string, SecretUser[]>()
  if (secretIds.length === 0) return users
  const add = (secretId: string, user: SecretUser): void => {
    const known = users.get(secretId)
    if (known === undefined) users.set(secretId, [user])
    else if (known.length < MAX_LISTED_USERS) known.push(user)
  }
  const connections = await db
    .selectFrom('connections')
    .select(['id', 'secretId'])
    .where('secretId', 'in', secretIds)
    .orderBy('id')
    .execute()
  for (const { id, secretId } of connections) if (secretId !== null) add(secretId, { type: 'connection', id })
  const others = await db
    .selectFrom('secretUses')
    .selectAll()
    .where('secretId', 'in', secretIds)
    .orderBy('usedByType')
    .orderBy('usedById')
    .execute()
  for (const use of others) add(use.secretId, { type: use.usedByType, id: use.usedById })
  return users
}

/**
 * Replaces the secrets that an object uses. Rejects with a foreign key violation if a secret does not
 * exist.
 */
export async function setSecretUses(trx: Trx, user: SecretUser, secretIds: readonly string[]): Promise<void> {
  const before = await trx
    .selectFrom('secretUses')
    .select('secretId')
    .where('usedByType', '=', user.type)
    .where('usedById', '=', user.id)
    .execute()
  const { removed, added } = changedIds(
    before.map((row) => row.secretId),
    secretIds,
  )
  if (removed.length > 0) {
    await trx
      .deleteFrom('secretUses')
      .where('usedByType', '=', user.type)
      .where('usedById', '=', user.id)
      .where('secretId', 'in', removed)
      .execute()
  }
  if (added.length === 0) return
  await trx
    .insertInto('secretUses')
    .values(added.map((secretId) => ({ secretId, usedByType: user.type, usedById: user.id })))
    .execute()
}

function last4(value: string): string | null {
  return value.length >= SHOWN_FROM ? value.slice(-4) : null
}
