import { type RawBuilder, sql } from 'kysely'
import type { BudgetOwner } from '../api/request-budget.js'
import type { Db, Trx } from '../db/database.js'

/** Tokens to take from a bucket. */
export interface TokenRequest {
  readonly wanted: number
  /** Size of the bucket, and tokens added in `windowMs`. */
  readonly limit: number
  readonly windowMs: number
  /** Unix time (ms). */
  readonly now: number
}

export interface Grant {
  /** Tokens taken: `wanted`, or all that were left. May be a fraction. */
  readonly granted: number
  /** Unix time (ms) at which the bucket is full. */
  readonly fullAt: number
}

/** Limits and token buckets of all owners. */
export interface BudgetStore {
  /** Returns the requests per minute of an owner, or null for the default. */
  limitOf(owner: BudgetOwner): Promise<number | null>
  takeTokens(owner: BudgetOwner, request: TokenRequest): Promise<Grant>
}

/** Returns the limits that staff set, and the buckets, of a database. */
export function storedBudgets(db: Db): BudgetStore {
  return {
    async limitOf({ organizationId, environment }) {
      const row = await db
        .selectFrom('requestLimits')
        .select('perMinute')
        .where('organizationId', '=', organizationId)
        .where('environment', '=', environment)
        .executeTakeFirst()
      return row?.perMinute ?? null
    },
    takeTokens: (owner, request) => takeTokens(db, owner, request),
  }
}

/**
 * Takes tokens in one statement. A bucket is the time at which it will be full: a token moves it by the time
 * in which one token is added (generic cell rate algorithm, ITU-T I.371).
 */
async function takeTokens(
  db: Db,
  { organizationId, environment }: BudgetOwner,
  { wanted, limit, windowMs, now }: TokenRequest,
): Promise<Grant> {
  const perToken = real(windowMs / limit)
  const start = sql<number>`case when "requestBudgets"."fullAt" > ${real(now)}
    then "requestBudgets"."fullAt" else ${real(now)} end`
  const left = sql<number>`(${real(now + windowMs)} - ${start}) / ${perToken}`
  const granted = sql<number>`case when ${left} <= 0 then 0
    when ${left} < ${real(wanted)} then ${left} else ${real(wanted)} end`
  const first = Math.min(wanted, limit)
  return db
    .insertInto('requestBudgets')
    .values({ organizationId, environment, fullAt: now + (first * windowMs) / limit, granted: first })
    .onConflict((conflict) =>
      conflict.columns(['organizationId', 'environment']).doUpdateSet({
        fullAt: sql<number>`${start} + (${granted}) * ${perToken}`,
        granted,
      }),
    )
    .returning(['granted', 'fullAt'])
    .executeTakeFirstOrThrow()
}

function real(value: number): RawBuilder<number> {
  return sql`cast(${value} as double precision)`
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
