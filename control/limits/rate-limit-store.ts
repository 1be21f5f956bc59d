import type { BudgetOwner } from '../api/request-budget.js'
import type { Db, Trx } from '../db/database.js'
import type { LimitLookup } from './rate-limiter.js'

/** Returns a lookup of the limits that staff set. Without a row the default applies. */
export function storedLimits(db: Db): LimitLookup {
  return async ({ organizationId, environment }) => {
    const row = await db
      .selectFrom('requestLimits')
      .select('perMinute')
      .where('organizationId', '=', organizationId)
      .where('environment', '=', environment)
      .executeTakeFirst()
    return row?.perMinute ?? null
  }
}

/** Sets the requests per minute of an owner (at least 1). Null restores the default. */
export async function setRequestLimit(
  db: Db | Trx,
  { organizationId, environment }: BudgetOwner,
  perMinute: number | null,
): Promise<void> {
  if (perMinute === null) {
    await db
      .deleteFrom('requestLimits')
      .where('organizationId', '=', organizationId)
      .where('environment', '=', environment)
      .execute()
    return
  }
  await db
    .insertInto('requestLimits')
    .values({ organizationId, environment, perMinute })
    .onConflict((conflict) => conflict.columns(['organizationId', 'environment']).doUpdateSet({ perMinute }))
    .execute()
}
