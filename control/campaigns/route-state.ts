import { sql } from 'kysely'
import type { Db } from '../db/database.js'
import type { NumberRow } from '../db/tables/calling.js'
import type { SipTrunkRow } from '../db/tables/trunks.js'
import { listRoutePaces, rateNow, routeOf } from '../recipients/route-pace.js'
import type { RouteState } from './dialler.js'
import type { Owner } from './store.js'

const MINUTE_MS = 60_000

/** Reads what the route of a number allows now: its pace and its free lines. */
export async function routeState(
  db: Db,
  owner: Owner,
  number: NumberRow,
  trunk: SipTrunkRow | null,
  now: number,
): Promise<RouteState> {
  const route = routeOf(number)
  const pace = (await listRoutePaces(db, owner)).find((one) => one.route === route)
  return {
    intervalMs: trunk === null ? 0 : Math.ceil(MINUTE_MS / trunk.callsPerMinute),
    nextDialAt: pace?.nextDialAt ?? 0,
    rate: pace === undefined ? 1 : rateNow(pace, now) / 1000,
    freeLines:
      trunk === null
        ? Number.POSITIVE_INFINITY
        : trunk.maxConcurrent - (await linesInUse(db, owner, trunk.id)),
  }
}

async function linesInUse(db: Db, owner: Owner, trunkId: string): Promise<number> {
  const row = await db
    .selectFrom('callSlots')
    .select(sql<number>`count(*)`.as('lines'))
    .where('organizationId', '=', owner.organizationId)
    .where('environment', '=', owner.environment)
    .where('pool', '=', `trunk:${trunkId}`)
    .executeTakeFirstOrThrow()
  return row.lines
}
