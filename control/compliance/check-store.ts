import { type Selectable, sql } from 'kysely'
import { newId } from '../../media/base/ids.js'
import { countCapped, olderThan, type Page, type PageRequest, pageOf } from '../api/pagination.js'
import { insertedOnce } from '../db/built-once.js'
import type { Db, Trx } from '../db/database.js'
import { unindexed, unindexedNumber } from '../db/owned-rows.js'
import type { CheckRow } from '../db/tables/calling.js'
import type { Check, GateRequest } from './check.js'

export interface GateRun {
  readonly runId: string
  readonly organizationId: string
  readonly callId: string | null
  readonly request: GateRequest
  readonly checks: readonly Check[]
  /** Unix ms. */
  readonly at: number
}

const insertRows = insertedOnce('checks')

/** Inserts one row per check of a run, in order. Returns the rows. */
export async function insertChecks(trx: Trx, run: GateRun): Promise<readonly CheckRow[]> {
  const rows = checkRows(run)
  await insertRows(trx, rows)
  return rows
}

/** Returns the check if it belongs to the organization and the environment, else null. */
export async function findCheck(
  db: Db | Trx,
  { organizationId, environment }: { organizationId: string; environment: 'test' | 'live' },
  id: string,
): Promise<Selectable<CheckRow> | null> {
  const row = await db
    .selectFrom('checks')
    .selectAll()
    .where('id', '=', id)
    .where(unindexed('organizationId'), '=', organizationId)
    .where('environment', '=', environment)
    .executeTakeFirst()
  return row ?? null
}

/** Returns the newest checks about a number. */
export function listPersonChecks(
  db: Db,
  { organizationId, environment }: { organizationId: string; environment: 'test' | 'live' },
  e164: string,
  limit: number,
): Promise<readonly Selectable<CheckRow>[]> {
  return db
    .selectFrom('checks')
    .selectAll()
    .where('organizationId', '=', organizationId)
    .where('environment', '=', environment)
    .where('e164', '=', e164)
    .orderBy('checkedAt', 'desc')
    .orderBy('runId', 'desc')
    .orderBy('position')
    .limit(limit)
    .execute()
}

export interface CheckFilter {
  readonly e164?: string | undefined
  readonly type?: string | undefined
  readonly outcome?: string | undefined
  readonly callId?: string | undefined
  readonly campaignId?: string | undefined
  /** Unix ms: at or after, and before. */
  readonly from: number | null
  readonly to: number | null
}

/** Returns a page of checks, newest first. The first page has the total. */
export async function listChecks(
  db: Db,
  { organizationId, environment }: { organizationId: string; environment: 'test' | 'live' },
  filter: CheckFilter,
  page: PageRequest,
): Promise<Page<CheckRow>> {
  let query = db
    .selectFrom('checks')
    .where('organizationId', '=', organizationId)
    .where('environment', '=', environment)
  for (const name of ['e164', 'type', 'outcome', 'callId', 'campaignId'] as const) {
    const value = filter[name]
    if (value !== undefined) query = query.where(name, '=', value)
  }
  if (filter.from !== null) query = query.where('checkedAt', '>=', filter.from)
  if (filter.to !== null) query = query.where('checkedAt', '<', filter.to)
  // A number and a call have few checks: their index is better than the one of the order.
  const few = filter.e164 !== undefined || filter.callId !== undefined
  const key = few ? unindexedNumber('checkedAt') : sql.ref<number>('checkedAt')
  const rows = await query
    .selectAll()
    .where(olderThan(page, key, 'id'))
    .orderBy(key, 'desc')
    .orderBy('id', 'desc')
    .limit(page.limit + 1)
    .execute()
  const total = page.after === null ? await countCapped(db, query.select('id')) : undefined
  return pageOf(
    rows,
    page,
    (row) => ({ key: row.checkedAt, id: row.id }),
    (row) => row,
    total,
  )
}

/** Returns one row per check of a run, in order. */
export function checkRows(run: GateRun): readonly CheckRow[] {
  return run.checks.map((check, position) => rowOf(run, check, position))
}

function rowOf(run: GateRun, check: Check, position: number): CheckRow {
  const { request } = run
  return {
    id: newId('chk', run.at),
    organizationId: run.organizationId,
    environment: request.environment,
    runId: run.runId,
    position,
    type: check.type,
    outcome: check.outcome,
    code: check.code,
    reason: check.reason,
    message: check.message,
    e164: request.to,
    purpose: request.purpose,
    trigger: request.trigger,
    callId: run.callId,
    campaignId: request.campaignId ?? null,
    recipientId: request.recipientId ?? null,
    source: check.source,
    details: JSON.stringify(check.details),
    nextAllowedAt: check.nextAllowedAt,
    checkedAt: run.at,
  }
}
