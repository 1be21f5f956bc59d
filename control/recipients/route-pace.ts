import type { Db, Trx } from '../db/database.js'
import type { NumberRow } from '../db/tables/calling.js'
import type { RoutePaceRow } from '../db/tables/campaigns.js'
import type { SipTrunkRow } from '../db/tables/trunks.js'

/*
 * Pace of a route: a trunk, or the carrier of a number. When the carrier answers 429 or 503, the rate is halved. It
 * then grows by a tenth of the full rate each minute. Of the answers to calls of one rate only the first counts.
 */

const MINUTE_MS = 60_000
const FULL_PERMILLE = 1000
/** Least share of the full rate. */
const LEAST_PERMILLE = 62
const REGAINED_PERMILLE = 100
/**
 * Minimum time between two reductions of a rate (ms). The answers to calls of the earlier rate do not concern the new
 * one.
 */
const SLOWED_MS = 10_000

/** The key of a route. Organizations that call over one trunk share its route. */
export type Route = Pick<RoutePaceRow, 'organizationId' | 'environment' | 'route'>

/** Returns the route of a number: its trunk, or its carrier if it has no trunk. */
export function routeOf(number: NumberRow, trunk: SipTrunkRow | null): Route {
  const { organizationId, environment } = trunk ?? number
  return { organizationId, environment, route: trunk?.id ?? number.provider }
}

/** Returns the rate of a route now (permille of the full rate), for its rate at an earlier time. */
export function rateNow(
  { ratePermille, rateAt }: Pick<RoutePaceRow, 'ratePermille' | 'rateAt'>,
  now: number,
): number {
  const regained = Math.floor((REGAINED_PERMILLE * Math.max(0, now - rateAt)) / MINUTE_MS)
  return Math.min(FULL_PERMILLE, ratePermille + regained)
}

/** Returns the pace of a route, or null if it is at full rate and free. */
export async function findRoutePace(
  db: Db | Trx,
  { organizationId, environment, route }: Route,
): Promise<RoutePaceRow | null> {
  const row = await db
    .selectFrom('routePaces')
    .selectAll()
    .where('organizationId', '=', organizationId)
    .where('environment', '=', environment)
    .where('route', '=', route)
    .executeTakeFirst()
  return row ?? null
}

/** Moves the next dial over a route. Returns false if another process has dialled over it meanwhile. */
export async function takeRouteTurn(
  trx: Trx,
  route: Route,
  nextDialAt: number,
  now: number,
): Promise<boolean> {
  const row = await trx
    .insertInto('routePaces')
    .values({ ...route, nextDialAt, ratePermille: FULL_PERMILLE, rateAt: now })
    .onConflict((conflict) =>
      conflict
        .columns(['organizationId', 'environment', 'route'])
        .doUpdateSet({ nextDialAt })
        .where('routePaces.nextDialAt', '<=', now),
    )
    .returning('route')
    .executeTakeFirst()
  return row !== undefined
}

/**
 * Halves the rate of a route whose carrier asked for fewer calls, in its answer to a call of `dialledAt`. Does
 * nothing if the rate was reduced after that, or within the last ten seconds.
 */
export async function slowRoute(trx: Trx, route: Route, dialledAt: number, now: number): Promise<void> {
  const pace = await findRoutePace(trx, route)
  const before = pace === null ? FULL_PERMILLE : rateNow(pace, now)
  const ratePermille = Math.max(LEAST_PERMILLE, Math.floor(before / 2))
  await trx
    .insertInto('routePaces')
    .values({ ...route, nextDialAt: now, ratePermille, rateAt: now })
    .onConflict((conflict) =>
      conflict
        .columns(['organizationId', 'environment', 'route'])
        .doUpdateSet({ ratePermille, rateAt: now })
        .where((eb) =>
          eb.or([
            // At the full rate, `rateAt` is the time of a dial, not of a reduction.
            eb('routePaces.ratePermille', '=', FULL_PERMILLE),
            eb('routePaces.rateAt', '<=', Math.min(dialledAt, now - SLOWED_MS)),
          ]),
        ),
    )
    .execute()
}
