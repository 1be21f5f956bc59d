import { sql } from 'kysely'
import { SLOT_LIFE_MS } from '../calls/placement/call-slots.js'
import type { Db } from '../db/database.js'
import type { NumberRow } from '../db/tables/calling.js'
import type { SipTrunkRow } from '../db/tables/trunks.js'
import { findRoutePace, rateNow, routeOf } from '../recipients/route-pace.js'
import type { RouteState } from './dialler.js'

const MINUTE_MS = 60_000

/** Reads what the route of a number allows now: its pace and its free lines. Others may share its trunk. */
export async function routeState(
  db: Db,
  number: NumberRow,
  trunk: SipTrunkRow | null,
  now: number,
): Promise<RouteState> {
  const pace = await findRoutePace(db, routeOf(number, trunk))
  return {
    intervalMs: trunk === null ? 0 : Math.ceil(MINUTE_MS / trunk.callsPerMinute),
    nextDialAt: pace?.nextDialAt ?? 0,
    rate: pace === null ? 1 : rateNow(pace, now) / 1000,
    freeLines:
      trunk === null ? Number.POSITIVE_INFINITY : trunk.maxConcurrent - (await linesInUse(db, trunk, now)),
  }
}

/** Counts the channels in use. They belong to the owner of the trunk. */
async function linesInUse(db: Db, trunk: SipTrunkRow, now: number): Promise<number> {
  const row = await db
    .selectFrom('callSlots')
    .select(sql<number>`count(*)`.as('lines'))
    .where('organizationId', '=', trunk.organizationId)
    .where('environment', '=', trunk.environment)
    .where('pool', '=', `trunk:${trunk.id}`)
    .where('takenAt', '>', now - SLOT_LIFE_MS)
    .executeTakeFirstOrThrow()
  return row.lines
}
