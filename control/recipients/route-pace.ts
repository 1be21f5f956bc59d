import type { Db, Trx } from '../db/database.js'
import type { CallRow } from '../db/tables/calling.js'
import type { RoutePaceRow } from '../db/tables/campaigns.js'

/*
 * The pace of a route: a trunk, or the carrier of a number. A carrier that answers 429 or 503 halves the rate, which
 * then grows by a tenth of the full rate each minute.
 */

const MINUTE_MS = 60_000
const FULL_PERMILLE = 1000
/** Least share of the full rate. */
const LEAST_PERMILLE = 62
const REGAINED_PERMILLE = 100

type Owner = Pick<CallRow, 'organizationId' | 'environment'>

/** Returns the key of the route of a number. */
export function routeOf(number: { readonly sipTrunkId: string | null; readonly provider: string }): string {
  return number.sipTrunkId ?? number.provider
}

/** Returns the rate of a route now (permille of the full rate), for its rate at an earlier time. */
export function rateNow(
  { ratePermille, rateAt }: Pick<RoutePaceRow, 'ratePermille' | 'rateAt'>,
  now: number,
): number {
  const regained = Math.floor((REGAINED_PERMILLE * Math.max(0, now - rateAt)) / MINUTE_MS)
  return Math.min(FULL_PERMILLE, ratePermille + regained)
}

/** Returns the paces of the routes of an organization. A route without a row is at full rate. */
export function listRoutePaces(db: Db | Trx, owner: Owner): Promise<readonly RoutePaceRow[]> {
  return db
    .selectFrom('routePaces')
    .selectAll()
    .where('organizationId', '=', owner.organizationId)
    .where('environment', '=', owner.environment)
    .execute()
}

/** Moves the next dial over a route. Returns false if another process has dialled over it meanwhile. */
export async function takeRouteTurn(
  trx: Trx,
  owner: Owner,
  turn: { readonly route: string; readonly nextDialAt: number },
  now: number,
): Promise<boolean> {
  const { organizationId, environment } = owner
  const row = await trx
    .insertInto('routePaces')
    .values({ organizationId, environment, ...turn, ratePermille: FULL_PERMILLE, rateAt: now })
    .onConflict((conflict) =>
      conflict
        .columns(['organizationId', 'environment', 'route'])
        .doUpdateSet({ nextDialAt: turn.nextDialAt })
        .where('routePaces.nextDialAt', '<=', now),
    )
    .returning('route')
    .executeTakeFirst()
  return row !== undefined
}

/** Halves the rate of a route whose carrier asked for fewer calls. */
export async function slowRoute(trx: Trx, owner: Owner, route: string, now: number): Promise<void> {
  const { organizationId, environment } = owner
  const pace = await trx
    .selectFrom('routePaces')
    .selectAll()
    .where('organizationId', '=', organizationId)
    .where('environment', '=', environment)
    .where('route', '=', route)
    .executeTakeFirst()
  const before = pace === undefined ? FULL_PERMILLE : rateNow(pace, now)
  const ratePermille = Math.max(LEAST_PERMILLE, Math.floor(before / 2))
  await trx
    .insertInto('routePaces')
    .values({ organizationId, environment, route, nextDialAt: now, ratePermille, rateAt: now })
    .onConflict((conflict) =>
      conflict.columns(['organizationId', 'environment', 'route']).doUpdateSet({ ratePermille, rateAt: now }),
    )
    .execute()
}
