import { newId } from '../../media/base/ids.js'
import { newestFirst, type Page, type PageRequest } from '../api/pagination.js'
import type { Db, Trx } from '../db/database.js'
import { changedIds, deleteOwned, findOwned, unknownIds } from '../db/owned-rows.js'
import type { ConnectionRow } from '../db/tables/organization.js'

export interface NewConnection {
  readonly organizationId: string
  readonly kind: string
  readonly name: string
  readonly baseUrl: string
  readonly secretId: string | null
}

/** Inserts a connection. Returns null when the organization has a connection of that name. */
export async function insertConnection(
  trx: Trx,
  connection: NewConnection,
  now: number,
): Promise<ConnectionRow | null> {
  const row = await trx
    .insertInto('connections')
    .values({
      ...connection,
      id: newId('cxn', now),
      status: 'untested',
      testedAt: null,
      revision: 1,
      createdAt: now,
      updatedAt: now,
    })
    .onConflict((conflict) => conflict.columns(['organizationId', 'name']).doNothing())
    .returningAll()
    .executeTakeFirst()
  return row ?? null
}

export function findConnection(
  db: Db | Trx,
  organizationId: string,
  id: string,
): Promise<ConnectionRow | null> {
  return findOwned(db, 'connections', organizationId, id)
}

/** Returns those of the connections that exist. */
export function findConnections(
  db: Db | Trx,
  organizationId: string,
  ids: readonly string[],
): Promise<readonly ConnectionRow[]> {
  if (ids.length === 0) return Promise.resolve([])
  return db
    .selectFrom('connections')
    .selectAll()
    .where('organizationId', '=', organizationId)
    .where('id', 'in', ids)
    .execute()
}

export type ConnectionChange = Partial<Pick<ConnectionRow, 'name' | 'baseUrl' | 'secretId'>>

/**
 * Updates a connection. Returns null when there is none. A new URL or secret resets its status to untested.
 * Rejects with a unique violation for a name that is taken.
 */
export async function updateConnection(
  trx: Trx,
  organizationId: string,
  id: string,
  change: ConnectionChange,
  now: number,
): Promise<ConnectionRow | null> {
  const retarget = change.baseUrl !== undefined || change.secretId !== undefined
  const row = await trx
    .updateTable('connections')
    .set((eb) => ({
      ...change,
      ...(retarget ? { status: 'untested', testedAt: null } : {}),
      revision: eb('revision', '+', 1),
      updatedAt: now,
    }))
    .where('organizationId', '=', organizationId)
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirst()
  return row ?? null
}

/** Stores the test result of the connection that was `seen`, unless the connection changed meanwhile. */
export async function recordTest(
  db: Db | Trx,
  seen: ConnectionRow,
  status: 'ok' | 'failing',
  now: number,
): Promise<void> {
  await db
    .updateTable('connections')
    .set({ status, testedAt: now })
    .where('organizationId', '=', seen.organizationId)
    .where('id', '=', seen.id)
    .where('revision', '=', seen.revision)
    .execute()
}

/**
 * Deletes a connection. Returns null when there is none. Rejects with a foreign key violation while an agent
 * uses it.
 */
export function deleteConnection(
  trx: Trx,
  organizationId: string,
  id: string,
): Promise<ConnectionRow | null> {
  return deleteOwned(trx, 'connections', organizationId, id)
}

/** Lists connections, newest first. */
export async function listConnections(
  db: Db,
  organizationId: string,
  page: PageRequest,
): Promise<Page<ConnectionRow>> {
  return newestFirst(
    db.selectFrom('connections').selectAll().where('organizationId', '=', organizationId),
    page,
  )
}

/** Returns the ids that are no connection of the organization. */
export function unknownConnections(
  db: Db | Trx,
  organizationId: string,
  ids: readonly string[],
): Promise<readonly string[]> {
  return unknownIds(db, 'connections', organizationId, ids)
}

/** Returns the agents that use a connection. */
export async function agentsUsing(db: Db | Trx, connectionId: string): Promise<readonly string[]> {
  const rows = await db
    .selectFrom('connectionUses')
    .select('agentId')
    .where('connectionId', '=', connectionId)
    .orderBy('agentId')
    .execute()
  return rows.map((row) => row.agentId)
}

/** Replaces the recorded connections of an agent. Rejects with a foreign key violation when one is gone. */
export async function setConnectionUses(
  trx: Trx,
  agentId: string,
  connectionIds: readonly string[],
): Promise<void> {
  const before = await trx
    .selectFrom('connectionUses')
    .select('connectionId')
    .where('agentId', '=', agentId)
    .execute()
  const { removed, added } = changedIds(
    before.map((row) => row.connectionId),
    connectionIds,
  )
  if (removed.length > 0) {
    await trx
      .deleteFrom('connectionUses')
      .where('agentId', '=', agentId)
      .where('connectionId', 'in', removed)
      .execute()
  }
  if (added.length === 0) return
  await trx
    .insertInto('connectionUses')
    .values(added.map((connectionId) => ({ connectionId, agentId })))
    .execute()
}
