import { sql } from 'kysely'
import { newestFirst, type Page, type PageRequest } from '../../api/pagination.js'
import type { Db, Trx } from '../../db/database.js'
import type { CallRow } from '../../db/tables/calling.js'
import type { CallbackRow, CallbackStatus } from '../../db/tables/campaigns.js'

export type Owner = Pick<CallbackRow, 'organizationId' | 'environment'>

/** Holds for callbacks that are still to be dialled. The values are in the text, so that SQLite takes the partial index. */
const IS_OPEN = sql<boolean>`"status" in ('scheduled', 'due')`

export interface CallbackFilter {
  readonly status: string | undefined
  readonly e164: string | undefined
  readonly agentId: string | undefined
  /** Unix ms. `dueAfter` is inclusive, `dueBefore` exclusive. */
  readonly dueAfter: number | undefined
  readonly dueBefore: number | undefined
}

/** A callback with the direction of the call on which it was promised. Null if the call is not stored any more. */
export type PromisedCallback = CallbackRow & { readonly promisedOn: CallRow['direction'] | null }

const DIRECTION = sql<PromisedCallback['promisedOn']>`(
  select "direction" from "calls"
  where "calls"."id" = "callbacks"."callId" and "calls"."organizationId" = "callbacks"."organizationId"
)`
const PROMISED_ON = DIRECTION.as('promisedOn')

/** Open callbacks to a number that only inbound calls showed. */
const MAX_UNPROVEN = 3

function owned(db: Db | Trx, owner: Owner) {
  return db
    .selectFrom('callbacks')
    .where('organizationId', '=', owner.organizationId)
    .where('environment', '=', owner.environment)
}

/** Stores a callback. The time of a callback that was canceled on the same call can be promised again. */
export async function insertCallback(trx: Trx, row: CallbackRow): Promise<void> {
  const { dueAt, note, status } = row
  await trx
    .insertInto('callbacks')
    .values(row)
    .onConflict((conflict) =>
      conflict
        .columns(['callId', 'promisedAt'])
        .doUpdateSet({ dueAt, note, status, reason: null })
        .where('callbacks.status', '=', 'canceled'),
    )
    .execute()
}

/**
 * Returns whether an inbound call may be promised a callback to a number, besides those of other calls. A caller can
 * show the number of another person, who must not be called again and again.
 */
export async function allowsUnproven(
  trx: Trx,
  { callId, e164, ...owner }: Owner & Pick<CallbackRow, 'callId' | 'e164'>,
): Promise<boolean> {
  const open = await owned(trx, owner)
    .select('id')
    .where('e164', '=', e164)
    .where('callId', '!=', callId)
    .where(IS_OPEN)
    .where(DIRECTION, '=', 'inbound')
    .limit(MAX_UNPROVEN)
    .execute()
  return open.length < MAX_UNPROVEN
}

export async function findCallback(db: Db | Trx, owner: Owner, id: string): Promise<PromisedCallback | null> {
  const query = owned(db, owner).selectAll().select(PROMISED_ON).where('id', '=', id)
  return (await query.executeTakeFirst()) ?? null
}

/** Lists callbacks, newest first. The first page carries the total. */
export function listCallbacks(
  db: Db,
  owner: Owner,
  filter: CallbackFilter,
  page: PageRequest,
): Promise<Page<PromisedCallback>> {
  const { status, e164, agentId, dueAfter, dueBefore } = filter
  let query = owned(db, owner)
  if (status !== undefined) query = query.where('status', '=', status as CallbackStatus)
  if (e164 !== undefined) query = query.where('e164', '=', e164)
  if (agentId !== undefined) query = query.where('agentId', '=', agentId)
  if (dueAfter !== undefined) query = query.where('dueAt', '>=', dueAfter)
  if (dueBefore !== undefined) query = query.where('dueAt', '<', dueBefore)
  return newestFirst(query.selectAll().select(PROMISED_ON), page, {
    count: { db, query: query.select('id') },
  })
}

/** Returns the open callbacks of an owner that are due first. */
export function nextCallbacks(db: Db, owner: Owner, limit: number): Promise<readonly CallbackRow[]> {
  return owned(db, owner).selectAll().where(IS_OPEN).orderBy('dueAt').orderBy('id').limit(limit).execute()
}

/** Changes a callback that is still to be dialled. Returns null, and changes nothing, if it is not. */
export async function changeCallback(
  db: Db | Trx,
  owner: Owner,
  id: string,
  change: Partial<CallbackRow>,
): Promise<PromisedCallback | null> {
  const row = await db
    .updateTable('callbacks')
    .set(change)
    .where('id', '=', id)
    .where('organizationId', '=', owner.organizationId)
    .where('environment', '=', owner.environment)
    .where(IS_OPEN)
    .returningAll()
    .returning(PROMISED_ON)
    .executeTakeFirst()
  return row ?? null
}

/** Cancels the open callbacks of a call, because another time was promised on it. */
export async function replaceCallbacks(trx: Trx, owner: Owner, callId: string): Promise<void> {
  await trx
    .updateTable('callbacks')
    .set({ status: 'canceled', reason: 'replaced' })
    .where('organizationId', '=', owner.organizationId)
    .where('environment', '=', owner.environment)
    .where('callId', '=', callId)
    .where(IS_OPEN)
    .execute()
}
