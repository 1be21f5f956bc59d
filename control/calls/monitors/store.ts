import type { CallEvent, MonitorEvent } from '../../../signalling/call/call-events.js'
import { recorder } from '../../api/audited.js'
import { newestFirst, type Page, type PageRequest } from '../../api/pagination.js'
import type { Db, Trx } from '../../db/database.js'
import type { CallMonitorRow } from '../../db/tables/monitors.js'
import { recordCallChange } from '../../live/changes.js'

/** Places of those who listen to one call at the same time. */
const LISTENER_PLACES = [1, 2] as const

/** Place of who takes the call over. */
export const TAKEOVER_PLACE = 0

/** The user who begins to monitor a call, and the id of the monitoring. */
export type NewMonitor = Pick<
  CallMonitorRow,
  'id' | 'organizationId' | 'environment' | 'callId' | 'userId' | 'mode'
>

/**
 * Begins a listening, with its audit entry. `ended`: the call runs no more. `used`: the id began before. `full`: all places
 * of the call are taken.
 */
export function beginListening(
  db: Db,
  monitor: NewMonitor,
  now: number,
): Promise<'begun' | 'ended' | 'used' | 'full'> {
  return db.transaction().execute(async (trx) => {
    const { callId, organizationId } = monitor
    const live = await trx
      .selectFrom('calls')
      .select('id')
      .where('id', '=', callId)
      .where('organizationId', '=', organizationId)
      .where('status', '=', 'in_progress')
      .executeTakeFirst()
    // The end of the call ends all listening, so none may begin after it.
    if (live === undefined) return 'ended'
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

/** Steps that go to the audit log, in the name of the user. */
const ACTIONS = {
  listen: { begun: null, over: 'call.listening_ended' },
  takeover: { begun: 'call.takeover_started', over: 'call.takeover_ended' },
} as const

/** Stores a step that the call reported. A step that does not fit changes nothing. */
export async function storeMonitorStep(
  trx: Trx,
  { id, mode, status, outcome, at }: CallEvent & MonitorEvent,
): Promise<void> {
  const change =
    status === 'begun'
      ? { startedAt: at }
      : { endedAt: at, place: null, ...(mode === 'takeover' ? { outcome } : {}) }
  const row = await trx
    .updateTable('callMonitors')
    .set(change)
    .where('id', '=', id)
    .where(status === 'begun' ? 'startedAt' : 'endedAt', 'is', null)
    .returningAll()
    .executeTakeFirst()
  const action = ACTIONS[mode][status]
  if (row === undefined || action === null) return
  await auditMonitor(trx, row, action, at)
}

/** Ends what a call left open because its process stopped. */
export async function endMonitors(trx: Trx, callId: string, endedAt: number): Promise<void> {
  await trx
    .updateTable('callMonitors')
    .set({ endedAt, place: null })
    .where('callId', '=', callId)
    .where('endedAt', 'is', null)
    .execute()
}

/** Adds the audit entry of a step in the name of the user. */
async function auditMonitor(
  trx: Trx,
  { id, callId, userId, organizationId, outcome }: CallMonitorRow,
  action: `call.${string}`,
  now: number,
): Promise<void> {
  const record = recorder(trx, { organizationId, actor: { kind: 'monitor', userId }, requestId: null }, now)
  await record(action, callId, { after: { monitorId: id, ...(outcome === null ? {} : { outcome }) } })
}

/** Returns the user who holds the call or is about to; null if there is none. */
export async function whoTakesOver(
  db: Db,
  { callId, organizationId }: Pick<CallMonitorRow, 'callId' | 'organizationId'>,
): Promise<string | null> {
  const row = await db
    .selectFrom('callMonitors')
    .select('userId')
    .where('callId', '=', callId)
    .where('organizationId', '=', organizationId)
    .where('place', '=', TAKEOVER_PLACE)
    .where('endedAt', 'is', null)
    .executeTakeFirst()
  return row?.userId ?? null
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
