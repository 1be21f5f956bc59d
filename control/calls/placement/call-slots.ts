import { sql } from 'kysely'
import type { Db, Trx } from '../../db/database.js'
import type { CallingProfileRow } from '../../db/tables/calling.js'
import type { OrganizationProfileRow } from '../../db/tables/organization.js'
import type { Owner } from '../../numbers/store.js'
import { type MonitoringRules, monitoringOf } from '../../organization/monitoring.js'

/** The pool of agent calls and the pool of calls with a customer's bot. Each has its own limit. */
export type SlotPool = 'agentCalls' | 'byoCalls'

/** Default limit of each pool. */
const DEFAULT_LIMIT = { test: 5, live: 10 } as const

/** Returns the limit of each pool: the operator's settings or the defaults. */
export function slotLimits(
  set: {
    readonly calling: Pick<CallingProfileRow, 'agentCallsTest' | 'agentCallsLive'> | undefined
    readonly profile: Pick<OrganizationProfileRow, 'byoCallsTest' | 'byoCallsLive'> | undefined
  },
  environment: Owner['environment'],
): Readonly<Record<SlotPool, number>> {
  const byDefault = DEFAULT_LIMIT[environment]
  const { calling, profile } = set
  return environment === 'test'
    ? { agentCalls: calling?.agentCallsTest ?? byDefault, byoCalls: profile?.byoCallsTest ?? byDefault }
    : { agentCalls: calling?.agentCallsLive ?? byDefault, byoCalls: profile?.byoCallsLive ?? byDefault }
}

/** A slot this old (ms) is stale: no call lasts longer than two hours. */
export const SLOT_LIFE_MS = 2 * 3_600_000

export interface PoolUse {
  readonly inUse: number
  readonly limit: number
}

/**
 * Reserves a free slot of the pool for a call. Returns null on success, else how full the pool is. Slots are
 * numbered rows; their primary key prevents two calls from holding the same slot.
 */
export async function takeSlot(
  db: Db,
  owner: Owner,
  pool: SlotPool,
  holder: Holder,
  now: number,
): Promise<PoolUse | null> {
  return fullness(
    await takeNumbered(db, owner, pool, (await readCallTerms(db, owner)).limits[pool], holder, now),
  )
}

/**
 * Reserves a slot of the pool, which has `limit`, and, over a trunk, one of its channels. This is one statement, unless another call takes the same
 * slot. Returns null on success. Otherwise the call holds neither, and the result names the pool that is full.
 */
export async function takeSlots(
  db: Db,
  owner: Owner,
  pool: SlotPool,
  limit: number,
  trunk: ChannelTrunk | null,
  holder: Holder,
  now: number,
): Promise<{ readonly full: SlotPool | 'sipTrunk'; readonly use: PoolUse } | null> {
  const wanted = [
    { full: pool, owner, pool: pool as string, limit },
    ...(trunk === null
      ? []
      : [{ full: 'sipTrunk' as const, owner: trunk, pool: poolOf(trunk), limit: trunk.maxConcurrent }]),
  ]
  const taken = await takeAnySlots(db, wanted, holder, now)
  for (const one of wanted) {
    if (taken.has(one.pool)) continue
    const found = await takeNumbered(db, one.owner, one.pool, one.limit, holder, now)
    if (typeof found === 'number') continue
    await releaseSlot(db, holder.callId)
    return { full: one.full, use: found }
  }
  return null
}

/** Reserves a channel of a trunk, which both directions share. Returns null on success. */
export async function takeTrunkChannel(
  db: Db,
  trunk: ChannelTrunk,
  holder: Holder,
  now: number,
): Promise<PoolUse | null> {
  return fullness(await takeNumbered(db, trunk, poolOf(trunk), trunk.maxConcurrent, holder, now))
}

/**
 * Reserves a channel of a trunk for a further leg of a call. Returns the function that releases it, or null if the trunk
 * is full. The end of the call releases it, too.
 */
export async function takeLegChannel(
  db: Db,
  trunk: ChannelTrunk,
  holder: Holder,
  now: number,
): Promise<(() => Promise<void>) | null> {
  const pool = poolOf(trunk)
  const taken = await takeNumbered(db, trunk, pool, trunk.maxConcurrent, holder, now)
  if (typeof taken !== 'number') return null
  return async () => {
    await db
      .deleteFrom('callSlots')
      .where('organizationId', '=', trunk.organizationId)
      .where('environment', '=', trunk.environment)
      .where('pool', '=', pool)
      .where('slot', '=', taken)
      .where('callId', '=', holder.callId)
      .execute()
  }
}

type ChannelTrunk = Owner & { readonly id: string; readonly maxConcurrent: number }

function poolOf({ id }: ChannelTrunk): string {
  return `trunk:${id}`
}

function fullness(taken: PoolUse | number): PoolUse | null {
  return typeof taken === 'number' ? null : taken
}

interface Holder {
  readonly callId: string
  readonly nodeId: string
}

/** Returns the number of the slot, or how full the pool is. */
async function takeNumbered(
  db: Db,
  owner: Owner,
  pool: string,
  limit: number,
  holder: Holder,
  now: number,
): Promise<PoolUse | number> {
  for (;;) {
    const taken = (await takeAnySlots(db, [{ owner, pool, limit }], holder, now)).get(pool)
    if (taken !== undefined) return taken
    const { inUse } = await db
      .selectFrom('callSlots')
      .select((eb) => eb.fn.countAll<number>().as('inUse'))
      .where('organizationId', '=', owner.organizationId)
      .where('environment', '=', owner.environment)
      .where('pool', '=', pool)
      .where('takenAt', '>', now - SLOT_LIFE_MS)
      .executeTakeFirstOrThrow()
    if (inUse >= limit) return { inUse, limit }
    // Another call took the slot at the same moment. The next attempt looks for another one.
  }
}

interface Wanted {
  readonly owner: Owner
  readonly pool: string
  readonly limit: number
}

/**
 * Takes a free slot of each pool, all in one statement: the first one from a random slot on, so that calls that begin at the same
 * moment rarely look for the same one. Returns the slots by their pools: one is missing if its pool is full, or if another call
 * took the slot at the same moment.
 */
async function takeAnySlots(
  db: Db,
  wanted: readonly Wanted[],
  { callId, nodeId }: Holder,
  now: number,
): Promise<ReadonlyMap<string, number>> {
  const stale = now - SLOT_LIFE_MS
  const slots = wanted.map(({ owner: { organizationId, environment }, pool, limit }) => {
    const first = sql`cast(${1 + Math.floor(Math.random() * limit)} as integer)`
    const held = sql`"organizationId" = ${organizationId} and "environment" = ${environment}
      and "pool" = ${pool} and "takenAt" > ${stale}`
    // The first free slot is the random one, the first one of all, or the one after a slot that is held.
    return sql`
      select ${organizationId}, ${environment}, ${pool}, free."slot", ${callId}, ${nodeId}, cast(${now} as bigint)
      from (
        select "slot" from (
          select ${first} as "slot" union select 1 union select "slot" + 1 from "callSlots" where ${held}
        ) as candidates
        where "slot" <= cast(${limit} as integer) and "slot" not in (select "slot" from "callSlots" where ${held})
        order by case when "slot" < ${first} then 1 else 0 end, "slot" limit 1
      ) as free
      where cast(${limit} as integer) > (select count(*) from "callSlots" where ${held})`
  })
  const { rows } = await sql<{ pool: string; slot: number }>`
    insert into "callSlots" ("organizationId", "environment", "pool", "slot", "callId", "nodeId", "takenAt")
    ${sql.join(slots, sql` union all `)}
    on conflict ("organizationId", "environment", "pool", "slot") do update
      set "callId" = excluded."callId", "nodeId" = excluded."nodeId", "takenAt" = excluded."takenAt"
      where "callSlots"."takenAt" <= ${stale}
    returning "pool", "slot"`.execute(db)
  return new Map(rows.map(({ pool, slot }) => [pool, slot]))
}

/** Releases the slots that the call holds, if any. */
export async function releaseSlot(db: Db | Trx, callId: string): Promise<void> {
  await db.deleteFrom('callSlots').where('callId', '=', callId).execute()
}

/** Returns the slots in use and the limit of each pool. Stale slots are not counted. */
export async function readPoolUse(
  db: Db,
  owner: Owner,
  now: number,
): Promise<Readonly<Record<SlotPool, PoolUse>>> {
  const { limits } = await readCallTerms(db, owner)
  const rows = await db
    .selectFrom('callSlots')
    .select(['pool', (eb) => eb.fn.countAll<number>().as('inUse')])
    .where('organizationId', '=', owner.organizationId)
    .where('environment', '=', owner.environment)
    .where('takenAt', '>', now - SLOT_LIFE_MS)
    .groupBy('pool')
    .execute()
  const use = (pool: SlotPool): PoolUse => ({
    inUse: rows.find((row) => row.pool === pool)?.inUse ?? 0,
    limit: limits[pool],
  })
  return { agentCalls: use('agentCalls'), byoCalls: use('byoCalls') }
}

/** Settings of the operator and of an organization for its calls. */
export interface CallTerms {
  readonly limits: Readonly<Record<SlotPool, number>>
  readonly monitoring: MonitoringRules
  /** Price of a minute that was agreed with the organization (paise). Null without one. */
  readonly agreedPaise: number | null
}

/** Reads the terms of calls in an environment. */
export async function readCallTerms(db: Db, owner: Owner): Promise<CallTerms> {
  const set = await db
    .selectFrom('organizations')
    .leftJoin('callingProfiles', 'callingProfiles.organizationId', 'organizations.id')
    .leftJoin('organizationProfiles', 'organizationProfiles.organizationId', 'organizations.id')
    .select(['agentCallsTest', 'agentCallsLive', 'byoCallsTest', 'byoCallsLive'])
    .select(['monitoringTest', 'monitoringLive', 'developersMonitor', 'ratePaisePerMinute'])
    .where('organizations.id', '=', owner.organizationId)
    .executeTakeFirst()
  return {
    limits: slotLimits({ calling: set, profile: set }, owner.environment),
    monitoring: monitoringOf(set),
    agreedPaise: set?.ratePaisePerMinute ?? null,
  }
}
