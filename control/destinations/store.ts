import { newId } from '../../media/base/ids.js'
import { newestFirst, type Page, type PageRequest } from '../api/pagination.js'
import type { Db, Trx } from '../db/database.js'
import { changedIds, findOwned, unknownIds } from '../db/owned-rows.js'
import type { DestinationVerificationRow, TransferDestinationRow } from '../db/tables/transfers.js'
import { type HoursWindow, isOpen } from './hours.js'

type Environment = DestinationVerificationRow['environment']

/** Largest number of destinations of an organization. */
export const MAX_DESTINATIONS = 50

export interface Owner {
  readonly organizationId: string
  readonly environment: Environment
}

/** A destination with its verification in one environment. */
export interface Destination {
  readonly row: TransferDestinationRow
  /** Null before the first verification call, and after a change of the number. */
  readonly verification: DestinationVerificationRow | null
}

export type DestinationStatus = 'pending' | 'verified' | 'disabled'

/** Returns the status of a destination in the environment of its verification. */
export function statusOf({ row, verification }: Destination): DestinationStatus {
  if (row.enabled === 0) return 'disabled'
  return (verification?.verifiedAt ?? null) === null ? 'pending' : 'verified'
}

export function hoursOf(row: Pick<TransferDestinationRow, 'hours'>): readonly HoursWindow[] {
  return JSON.parse(row.hours) as readonly HoursWindow[]
}

/** Returns whether the destination takes calls now. */
export function takesCalls(row: Pick<TransferDestinationRow, 'hours'>, now: number): boolean {
  return isOpen(hoursOf(row), now)
}

export interface DestinationFields {
  readonly key: string
  readonly label: string
  readonly e164: string
  readonly hours: readonly HoursWindow[]
  readonly language: string
}

/**
 * Inserts a destination. Returns `key_taken` when the organization has one of that key, and `full` when it has
 * `MAX_DESTINATIONS`.
 */
export async function insertDestination(
  trx: Trx,
  organizationId: string,
  { hours, ...fields }: DestinationFields,
  now: number,
): Promise<TransferDestinationRow | 'key_taken' | 'full'> {
  // Locks the organization, so that the count below stays valid until the insert.
  await trx
    .updateTable('organizations')
    .set((column) => ({ id: column.ref('id') }))
    .where('id', '=', organizationId)
    .execute()
  const { n } = await trx
    .selectFrom('transferDestinations')
    .select((column) => column.fn.countAll<number>().as('n'))
    .where('organizationId', '=', organizationId)
    .executeTakeFirstOrThrow()
  const row = await trx
    .insertInto('transferDestinations')
    .values({
      ...fields,
      id: newId('tdst', now),
      organizationId,
      hours: JSON.stringify(hours),
      enabled: 1,
      createdAt: now,
      updatedAt: now,
    })
    .onConflict((conflict) => conflict.columns(['organizationId', 'key']).doNothing())
    .returningAll()
    .executeTakeFirst()
  if (row === undefined) return 'key_taken'
  if (Number(n) < MAX_DESTINATIONS) return row
  await trx.deleteFrom('transferDestinations').where('id', '=', row.id).execute()
  return 'full'
}

export async function findDestination(db: Db | Trx, owner: Owner, id: string): Promise<Destination | null> {
  const row = await findOwned(db, 'transferDestinations', owner.organizationId, id)
  return row === null ? null : ((await withVerifications(db, owner, [row]))[0] ?? null)
}

/** Returns those of the destinations that exist, by id. */
export async function findDestinations(
  db: Db | Trx,
  owner: Owner,
  ids: readonly string[],
): Promise<ReadonlyMap<string, Destination>> {
  if (ids.length === 0) return new Map()
  const rows = await db
    .selectFrom('transferDestinations')
    .selectAll()
    .where('organizationId', '=', owner.organizationId)
    .where('id', 'in', ids)
    .execute()
  return new Map((await withVerifications(db, owner, rows)).map((found) => [found.row.id, found]))
}

/** Lists destinations, newest first. */
export async function listDestinations(db: Db, owner: Owner, page: PageRequest): Promise<Page<Destination>> {
  const { items, ...rest } = await newestFirst(
    db.selectFrom('transferDestinations').selectAll().where('organizationId', '=', owner.organizationId),
    page,
  )
  return { items: await withVerifications(db, owner, items), ...rest }
}

/** Changed fields; undefined keeps a field. */
export type DestinationChange = {
  readonly [F in Exclude<keyof DestinationFields, 'key'>]?: DestinationFields[F] | undefined
} & { readonly enabled?: boolean | undefined }

/** Updates a destination. A new number voids its verification in both environments. Returns null when there is none. */
export async function updateDestination(
  trx: Trx,
  organizationId: string,
  id: string,
  { hours, enabled, ...plain }: DestinationChange,
  now: number,
): Promise<TransferDestinationRow | null> {
  const row = await trx
    .updateTable('transferDestinations')
    .set({
      ...plain,
      ...(hours === undefined ? {} : { hours: JSON.stringify(hours) }),
      ...(enabled === undefined ? {} : { enabled: enabled ? 1 : 0 }),
      updatedAt: now,
    })
    .where('organizationId', '=', organizationId)
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirst()
  if (row === undefined) return null
  await trx
    .deleteFrom('destinationVerifications')
    .where('destinationId', '=', id)
    .where('e164', '!=', row.e164)
    .execute()
  return row
}

/**
 * Deletes a destination. Returns null when there is none. Rejects with a foreign key violation while an agent uses
 * it.
 */
export async function deleteDestination(
  trx: Trx,
  organizationId: string,
  id: string,
): Promise<TransferDestinationRow | null> {
  const row = await trx
    .deleteFrom('transferDestinations')
    .where('organizationId', '=', organizationId)
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirst()
  return row ?? null
}

/** Returns the ids that are no destination of the organization. */
export function unknownDestinations(
  db: Db | Trx,
  organizationId: string,
  ids: readonly string[],
): Promise<readonly string[]> {
  return unknownIds(db, 'transferDestinations', organizationId, ids)
}

/** Returns the agents that use a destination. */
export async function agentsUsing(db: Db | Trx, destinationId: string): Promise<readonly string[]> {
  const rows = await db
    .selectFrom('destinationUses')
    .select('agentId')
    .where('destinationId', '=', destinationId)
    .orderBy('agentId')
    .execute()
  return rows.map(({ agentId }) => agentId)
}

/** Replaces the recorded destinations of an agent. Rejects with a foreign key violation when one is gone. */
export async function setDestinationUses(
  trx: Trx,
  agentId: string,
  destinationIds: readonly string[],
): Promise<void> {
  const before = await trx
    .selectFrom('destinationUses')
    .select('destinationId')
    .where('agentId', '=', agentId)
    .execute()
  const { removed, added } = changedIds(
    before.map(({ destinationId }) => destinationId),
    destinationIds,
  )
  if (removed.length > 0) {
    await trx
      .deleteFrom('destinationUses')
      .where('agentId', '=', agentId)
      .where('destinationId', 'in', removed)
      .execute()
  }
  if (added.length === 0) return
  await trx
    .insertInto('destinationUses')
    .values(added.map((destinationId) => ({ destinationId, agentId })))
    .execute()
}

async function withVerifications(
  db: Db | Trx,
  owner: Owner,
  rows: readonly TransferDestinationRow[],
): Promise<readonly Destination[]> {
  if (rows.length === 0) return []
  const verifications = await db
    .selectFrom('destinationVerifications')
    .selectAll()
    .where('organizationId', '=', owner.organizationId)
    .where('environment', '=', owner.environment)
    .where(
      'destinationId',
      'in',
      rows.map(({ id }) => id),
    )
    .execute()
  return rows.map((row) => {
    const verification = verifications.find(
      ({ destinationId, e164 }) => destinationId === row.id && e164 === row.e164,
    )
    return { row, verification: verification ?? null }
  })
}
