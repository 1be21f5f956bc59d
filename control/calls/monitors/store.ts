import { recordAudit } from '../../api/audit.js'
import { newestFirst, type Page, type PageRequest } from '../../api/pagination.js'
import type { Db, Trx } from '../../db/database.js'
import type { CallMonitorRow } from '../../db/tables/monitors.js'
import { recordCallChange } from '../../live/changes.js'

/** Places of those who listen to one call at the same time. */
const LISTENER_PLACES = [1, 2] as const

/** Who begins to monitor a call, and under which id. */
export type NewMonitor = Pick<
  CallMonitorRow,
  'id' | 'organizationId' | 'environment' | 'callId' | 'userId' | 'mode'
>

/**
 * Begins a listening, with its audit entry. `used`: the id began before. `full`: all places of the call are taken.
 */
export function beginListening(db: Db, monitor: NewMonitor, now: number): Promise<'begun' | 'used' | 'full'> {
  return db.transaction().execute(async (trx) => {
    for (const place of LISTENER_PLACES) {
      const row = await insertMonitor(trx, { ...monitor, place, startedAt: now }, now)
      if (row === null) continue
      await auditMonitor(trx, row, 'call.listening_started', now)
      await recordCallChange(trx, row.callId, 'call', now)
      return 'begun'
    }
    const known = await trx
      .selectFrom('callMonitors')
      .select('id')
      .where('id', '=', monitor.id)
      .executeTakeFirst()
    return known === undefined ? 'full' : 'used'
  })
}

/** Returns null when the id or the place is taken. */
export async function insertMonitor(
  trx: Trx,
  monitor: NewMonitor & Pick<CallMonitorRow, 'place' | 'startedAt'>,
  now: number,
): Promise<CallMonitorRow | null> {
  const row = await trx
    .insertInto('callMonitors')
    .values({ ...monitor, createdAt: now, endedAt: null, outcome: null })
    .onConflict((conflict) => conflict.doNothing())
    .returningAll()
    .executeTakeFirst()
  return row ?? null
}

/** Ends a listening, with its audit entry. Does nothing if it is over. */
export function endListening(db: Db, id: string, now: number): Promise<void> {
  return db.transaction().execute(async (trx) => {
    const row = await trx
      .updateTable('callMonitors')
      .set({ endedAt: now, place: null })
      .where('id', '=', id)
      .where('endedAt', 'is', null)
      .returningAll()
      .executeTakeFirst()
    if (row === undefined) return
    await auditMonitor(trx, row, 'call.listening_ended', now)
    await recordCallChange(trx, row.callId, 'call', now)
  })
}

/** Adds the audit entry of a step in the name of the user. */
export async function auditMonitor(
  trx: Trx,
  { id, callId, userId, organizationId, outcome }: CallMonitorRow,
  action: string,
  now: number,
): Promise<void> {
  await recordAudit(
    trx,
    {
      ...{ organizationId, action, requestId: null },
      actor: { kind: 'monitor', userId },
      subject: { type: 'call', id: callId },
      after: { monitorId: id, ...(outcome === null ? {} : { outcome }) },
    },
    now,
  )
}

/** Lists who monitored a call, newest first. */
export function listMonitors(
  db: Db,
  call: Pick<CallMonitorRow, 'callId' | 'organizationId' | 'environment'>,
  page: PageRequest,
): Promise<Page<CallMonitorRow>> {
  const monitors = db
    .selectFrom('callMonitors')
    .selectAll()
    .where('callId', '=', call.callId)
    .where('organizationId', '=', call.organizationId)
    .where('environment', '=', call.environment)
  return newestFirst(monitors, page)
}
