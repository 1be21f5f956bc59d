import { type Insertable, sql } from 'kysely'
import type { Cidr } from '../../signalling/trunk/cidr.js'
import type { TrunkProbe } from '../../signalling/trunk/trunk-probe.js'
import { newestFirst, type Page, type PageRequest, pageOf } from '../api/pagination.js'
import type { Db, Trx } from '../db/database.js'
import { skipLocked } from '../db/skip-locked.js'
import type { NumberRow } from '../db/tables/calling.js'
import type { SipTrunkRow, TrunkTables } from '../db/tables/trunks.js'
import type { Owner } from '../numbers/store.js'
import { addRanges, replaceRanges } from './claims.js'

/** Returns a trunk of one environment, or null if it does not exist or was deleted. */
export async function findTrunk(db: Db | Trx, owner: Owner, id: string): Promise<SipTrunkRow | null> {
  return (await ownedBy(existing(db), owner).where('id', '=', id).executeTakeFirst()) ?? null
}

/** Returns the trunk of an authenticated caller, of any organization. */
export async function findInboundTrunk(db: Db | Trx, id: string): Promise<SipTrunkRow | null> {
  return (await receiving(db).where('id', '=', id).executeTakeFirst()) ?? null
}

export async function findTrunkByUsername(db: Db | Trx, username: string): Promise<SipTrunkRow | null> {
  return (await receiving(db).where('digestUsername', '=', username).executeTakeFirst()) ?? null
}

/** Returns all realms with their digest algorithm. If trunks share a realm, the weakest algorithm applies. */
export async function listRealms(db: Db | Trx): Promise<ReadonlyMap<string, SipTrunkRow['digestAlgorithm']>> {
  const rows = await db
    .selectFrom('sipTrunks')
    .select(['realm', (eb) => eb.fn.min('digestAlgorithm').as('algorithm')])
    .where('deletedAt', 'is', null)
    .where('environment', '=', 'live')
    .where('inboundAuth', '!=', 'ip_acl')
    .groupBy('realm')
    .execute()
  return new Map(rows.map(({ realm, algorithm }) => [realm, algorithm]))
}

/**
 * Returns true if any trunk has a password, also one that uses addresses: it proves new addresses with the password.
 */
export async function hasDigestTrunk(db: Db | Trx): Promise<boolean> {
  const row = await receiving(db).where('digestPassword', 'is not', null).limit(1).executeTakeFirst()
  return row !== undefined
}

/** Returns the trunks that must be registered at their carrier. */
export function listRegisteringTrunks(db: Db | Trx): Promise<SipTrunkRow[]> {
  return receiving(db).where('register', '=', 1).where('status', '=', 'active').orderBy('id').execute()
}

/**
 * Leases those of these trunks to a process that no other process holds, and returns their ids. With concurrent
 * processes each trunk goes to one of them.
 */
export async function leaseRegistrations(
  db: Db | Trx,
  trunkIds: readonly string[],
  { nodeId, now, until }: { readonly nodeId: string; readonly now: number; readonly until: number },
): Promise<readonly string[]> {
  const rows = await db
    .updateTable('sipTrunks')
    .set({ registeredBy: nodeId, registeredUntil: until })
    .where('id', 'in', [...trunkIds])
    .where((eb) => eb.or([eb('registeredBy', '=', nodeId), eb('registeredUntil', '<=', now)]))
    .returning('id')
    .execute()
  return rows.map(({ id }) => id)
}

/** Ends the leases of a process, so that another one registers its trunks. */
export async function endRegistrationLeases(db: Db | Trx, nodeId: string): Promise<void> {
  await db
    .updateTable('sipTrunks')
    .set({ registeredBy: null, registeredUntil: 0 })
    .where('registeredBy', '=', nodeId)
    .execute()
}

/** Returns the active trunks. */
export function listActiveTrunks(db: Db | Trx): Promise<SipTrunkRow[]> {
  return receiving(db).where('status', '=', 'active').orderBy('id').execute()
}

/** Returns a page of trunks, newest first. */
export function listTrunks(db: Db, owner: Owner, page: PageRequest): Promise<Page<SipTrunkRow>> {
  return newestFirst(ownedBy(existing(db), owner), page)
}

/** Returns the operator's active trunk for the numbers of a carrier, or null. */
export async function findCarrierTrunk(db: Db | Trx, provider: string): Promise<SipTrunkRow | null> {
  const row = await receiving(db)
    .where('carrier', '=', provider)
    .where('source', '=', 'file')
    .where('status', '=', 'active')
    .orderBy('id')
    .executeTakeFirst()
  return row ?? null
}

/** Returns the trunk over which a number calls, active or not. Null if it has none, or calls the simulated carrier. */
export async function findOutboundTrunk(db: Db | Trx, number: NumberRow): Promise<SipTrunkRow | null> {
  const { environment, sipTrunkId, provider } = number
  if (environment === 'test') return null
  return sipTrunkId === null ? findCarrierTrunk(db, provider) : findTrunk(db, number, sipTrunkId)
}

/** Returns the trunk to the telephone system of a number in `byo_sip`, or null. */
export async function findNumberTrunk(db: Db | Trx, numberId: string): Promise<SipTrunkRow | null> {
  return (await existing(db).where('numberId', '=', numberId).executeTakeFirst()) ?? null
}

/** Returns the trunk that an idempotent request made, or null. */
export async function findMadeTrunk(
  db: Db | Trx,
  owner: Owner,
  idempotencyId: string,
): Promise<SipTrunkRow | null> {
  const row = await ownedBy(existing(db), owner).where('idempotencyId', '=', idempotencyId).executeTakeFirst()
  return row ?? null
}

/** Reads a trunk and locks it until the end of the transaction, so that concurrent changes wait. */
export async function lockTrunk(
  trx: Trx,
  owner: Owner,
  id: string,
  now: number,
): Promise<SipTrunkRow | null> {
  const row = await trx
    .updateTable('sipTrunks')
    .set({ updatedAt: now })
    .where('id', '=', id)
    .where('organizationId', '=', owner.organizationId)
    .where('environment', '=', owner.environment)
    .where('deletedAt', 'is', null)
    .returningAll()
    .executeTakeFirst()
  return row ?? null
}

/** Returns a trunk of any organization, for staff. */
export async function findAnyTrunk(db: Db | Trx, id: string): Promise<SipTrunkRow | null> {
  return (await existing(db).where('id', '=', id).executeTakeFirst()) ?? null
}

/** Returns the trunk of `trunkIds` on which a number arrives, or null. */
export async function trunkOfNumber(
  db: Db | Trx,
  trunkIds: readonly string[],
  e164: string,
): Promise<string | null> {
  const row = await db
    .selectFrom('numbers')
    .select('sipTrunkId')
    .where('e164', '=', e164)
    .where('sipTrunkId', 'in', [...trunkIds])
    .where('releasedAt', 'is', null)
    .orderBy('sipTrunkId')
    .executeTakeFirst()
  return row?.sipTrunkId ?? null
}

/**
 * Inserts a trunk. Returns null if the user name is taken. `ranges` must match `ipAcl`. Those of the trunk file identify
 * callers at once, those of customers wait.
 */
export async function insertTrunk(
  trx: Trx,
  row: Insertable<TrunkTables['sipTrunks']>,
  ranges: readonly Cidr[],
): Promise<SipTrunkRow | null> {
  const made = await trx
    .insertInto('sipTrunks')
    .values({ ...row, ipAclPending: row.source === 'file' ? '[]' : row.ipAcl })
    .onConflict((conflict) => conflict.doNothing())
    .returningAll()
    .executeTakeFirst()
  if (made === undefined) return null
  await addRanges(trx, row, ranges)
  return made
}

/** Fields of a trunk that may change. */
export type TrunkChange = Partial<
  Omit<
    SipTrunkRow,
    'id' | 'organizationId' | 'environment' | 'source' | 'createdAt' | 'ipAcl' | 'ipAclPending'
  >
>

/**
 * Updates a trunk. Returns null if it does not exist. `ranges` replaces the address list; null keeps it. New addresses of
 * a customer wait, as in `insertTrunk`.
 */
export async function updateTrunk(
  trx: Trx,
  owner: Owner,
  id: string,
  change: TrunkChange,
  ranges: readonly Cidr[] | null,
): Promise<SipTrunkRow | null> {
  const list = ranges === null ? {} : { ipAcl: JSON.stringify(ranges.map(({ text }) => text)) }
  const row = await trx
    .updateTable('sipTrunks')
    .set({ ...change, ...list })
    .where('id', '=', id)
    .where('organizationId', '=', owner.organizationId)
    .where('environment', '=', owner.environment)
    .where('deletedAt', 'is', null)
    .returningAll()
    .executeTakeFirst()
  if (row === undefined) return null
  if (ranges === null) return row
  const ipAclPending = await replaceRanges(trx, row, ranges)
  await trx.updateTable('sipTrunks').set({ ipAclPending }).where('id', '=', id).execute()
  return { ...row, ipAclPending }
}

/** Records the time of the last call over a trunk. Waits for no other call that does this, and leaves the time to that one. */
export async function recordTrunkUse(
  db: Db | Trx,
  owner: Owner,
  id: string,
  direction: 'inbound' | 'outbound',
  now: number,
): Promise<void> {
  await db
    .updateTable('sipTrunks')
    .set(direction === 'inbound' ? { lastInboundAt: now } : { lastOutboundAt: now })
    .where('id', '=', sql<string>`(select "id" from "sipTrunks" where "id" = ${id} ${skipLocked(db)})`)
    .where('organizationId', '=', owner.organizationId)
    .where('environment', '=', owner.environment)
    .execute()
}

/** Stores the result of a test and returns the row, or null if the trunk does not exist. */
export async function storeProbe(
  db: Db | Trx,
  owner: Owner,
  id: string,
  probe: TrunkProbe,
): Promise<SipTrunkRow | null> {
  const row = await db
    .updateTable('sipTrunks')
    .set({ lastProbe: JSON.stringify(probe) })
    .where('id', '=', id)
    .where('organizationId', '=', owner.organizationId)
    .where('environment', '=', owner.environment)
    .where('deletedAt', 'is', null)
    .returningAll()
    .executeTakeFirst()
  return row ?? null
}

/** Returns a page of the numbers of a trunk in their order, without released ones. */
export async function pageOfTrunkNumbers(
  db: Db,
  owner: Owner,
  trunkId: string,
  page: PageRequest,
): Promise<Page<NumberRow>> {
  const { after } = page
  const rows = await db
    .selectFrom('numbers')
    .selectAll()
    .where('organizationId', '=', owner.organizationId)
    .where('environment', '=', owner.environment)
    .where('sipTrunkId', '=', trunkId)
    .where('releasedAt', 'is', null)
    .$if(after !== null, (query) => query.where('e164', '>', String(after?.key)))
    .orderBy('e164')
    .limit(page.limit + 1)
    .execute()
  return pageOf(
    rows,
    page,
    ({ e164, id }) => ({ key: e164, id }),
    (row) => row,
  )
}

/** Returns the numbers of a trunk, without released ones. */
export function listTrunkNumbers(db: Db | Trx, owner: Owner, trunkId: string): Promise<NumberRow[]> {
  return db
    .selectFrom('numbers')
    .selectAll()
    .where('organizationId', '=', owner.organizationId)
    .where('environment', '=', owner.environment)
    .where('sipTrunkId', '=', trunkId)
    .where('releasedAt', 'is', null)
    .orderBy('e164')
    .execute()
}

function existing(db: Db | Trx) {
  return db.selectFrom('sipTrunks').selectAll().where('deletedAt', 'is', null)
}

/** The trunks of an owner, without those of its numbers in `byo_sip`. */
function ownedBy(query: ReturnType<typeof existing>, owner: Owner) {
  return query
    .where('organizationId', '=', owner.organizationId)
    .where('environment', '=', owner.environment)
    .where('source', '!=', 'number')
}

/** Trunks of the test environment are simulated and receive no calls. */
function receiving(db: Db | Trx) {
  return existing(db).where('environment', '=', 'live')
}
