import type { Selectable } from 'kysely'
import { newId } from '../../media/base/ids.js'
import type { Db, Trx } from '../db/database.js'
import type { CheckRow } from '../db/tables/calling.js'
import type { Check, GateRequest, GateVerdict } from './gate.js'

export interface GateRun {
  readonly runId: string
  readonly organizationId: string
  readonly callId: string | null
  readonly request: GateRequest
  readonly verdict: GateVerdict
  /** Unix ms. */
  readonly at: number
}

/** Inserts one row per check of a run, in order. Returns the rows. */
export async function insertChecks(trx: Trx, run: GateRun): Promise<readonly CheckRow[]> {
  const rows = run.verdict.checks.map((check, position) => rowOf(run, check, position))
  await trx.insertInto('checks').values(rows).execute()
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
    .where('organizationId', '=', organizationId)
    .where('environment', '=', environment)
    .executeTakeFirst()
  return row ?? null
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
    campaignId: null,
    recipientId: null,
    source: check.source,
    details: JSON.stringify(check.details),
    nextAllowedAt: check.nextAllowedAt,
    checkedAt: run.at,
  }
}
