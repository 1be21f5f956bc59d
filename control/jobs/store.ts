import { sql } from 'kysely'
import type { Db, Trx } from '../db/database.js'
import { skipLocked } from '../db/skip-locked.js'
import type { JobRow } from '../db/tables/webhooks.js'
import { hintJobs } from './hints.js'

export interface NewJob {
  /** Unique across all kinds. Adding a job that already exists has no effect. */
  readonly id: string
  readonly kind: string
  readonly lane?: string
  /** Unix ms. */
  readonly dueAt: number
  readonly payload?: string
}

/** Claim of a job. Writes with this claim fail once another runner has claimed the job. */
export interface Claim {
  readonly id: string
  readonly owner: string
  /** Number of the claim. Distinguishes claims by the same runner. */
  readonly attempts: number
}

/** Adds jobs. Call it in the transaction of the change that causes them. */
export async function addJobs(db: Db | Trx, jobs: readonly NewJob[], now: number): Promise<void> {
  if (jobs.length === 0) return
  await db
    .insertInto('jobs')
    .values(
      jobs.map(({ id, kind, lane = '', dueAt, payload = '{}' }) => ({
        id,
        kind,
        lane,
        dueAt,
        owner: null,
        attempts: 0,
        payload,
        createdAt: now,
      })),
    )
    .onConflict((conflict) => conflict.column('id').doNothing())
    .execute()
  if (jobs.some(({ dueAt }) => dueAt <= now)) hintJobs(db)
}

/** Returns whether one of these jobs waits or runs. */
export async function anyJobExists(db: Db | Trx, ids: readonly string[]): Promise<boolean> {
  const job = await db.selectFrom('jobs').select('id').where('id', 'in', ids).limit(1).executeTakeFirst()
  return job !== undefined
}

/**
 * Returns when the first job of each kind is due (Unix ms), also of those that another runner holds. A kind without jobs
 * is missing. One index entry is read for each kind.
 */
export async function firstDueByKind(db: Db, kinds: readonly string[]): Promise<ReadonlyMap<string, number>> {
  if (kinds.length === 0) return new Map()
  const values = sql.join(kinds.map((kind) => sql`(${kind})`))
  const { rows } = await sql<{ kind: string; due: number | null }>`
    with kinds(kind) as (values ${values})
    select kind, (select min("dueAt") from "jobs" where "jobs"."kind" = kinds.kind) as due from kinds`.execute(
    db,
  )
  return new Map(rows.flatMap(({ kind, due }) => (due === null ? [] : [[kind, due] as const])))
}

/**
 * Returns the lanes of a kind that have a due job, longest waiting first. Reads one index entry per lane,
 * independent of the number of jobs.
 */
export async function dueLanes(db: Db, kind: string, now: number, limit: number): Promise<readonly string[]> {
  const { rows } = await sql<{ lane: string }>`
    with recursive lanes(lane) as (
      select min("lane") from "jobs" where "kind" = ${kind}
      union all
      select (select min("lane") from "jobs" where "kind" = ${kind} and "lane" > lanes.lane)
      from lanes where lanes.lane is not null
    ), heads(lane, due) as (
      select lane, (select min("dueAt") from "jobs" where "kind" = ${kind} and "lane" = lanes.lane)
      from lanes where lane is not null
    )
    select lane from heads where due <= ${now} order by due limit ${sql.lit(limit)}`.execute(db)
  return rows.map(({ lane }) => lane)
}

/**
 * Claims up to `limit` due jobs of a lane for `owner`, oldest first. With concurrent runners each job goes to one of
 * them: on PostgreSQL a runner passes over jobs that another one claims at this moment.
 */
export async function claimJobs(
  db: Db | Trx,
  wanted: {
    readonly kind: string
    readonly lane: string
    readonly owner: string
    readonly leaseMs: number
    readonly limit: number
    /** Jobs that are not claimed. */
    readonly except?: readonly string[]
  },
  now: number,
): Promise<readonly JobRow[]> {
  const { kind, lane, owner, leaseMs, limit, except = [] } = wanted
  const others = except.length === 0 ? sql`` : sql`and "id" not in (${sql.join(except)})`
  // As a table of its own the selection runs once: within the condition PostgreSQL may repeat it and claim more.
  const { rows } = await sql<JobRow>`
    update "jobs" set "owner" = ${owner}, "dueAt" = ${now + leaseMs}, "attempts" = "attempts" + 1
    where "id" in (
      with due as (
        select "id" from "jobs" where "kind" = ${kind} and "lane" = ${lane} and "dueAt" <= ${now} ${others}
        order by "dueAt" limit ${sql.lit(limit)} ${skipLocked(db)}
      ) select "id" from due)
    returning *`.execute(db)
  return rows
}

/**
 * Extends the leases of jobs that are still held. On PostgreSQL it passes over jobs that a transaction ends at this moment:
 * to wait for them while it holds other jobs that the transaction ends next would be a deadlock.
 */
export async function renewClaims(db: Db, claims: readonly Claim[], leaseUntil: number): Promise<void> {
  const [first] = claims
  if (first === undefined) return
  const ids = sql.join(claims.map(({ id }) => id))
  await sql`
    update "jobs" set "dueAt" = ${leaseUntil}
    where "id" in (
      with held as (
        select "id" from "jobs" where "owner" = ${first.owner} and "id" in (${ids}) ${skipLocked(db)}
      ) select "id" from held)`.execute(db)
}

/** Extends one lease. Returns false without a change if another runner has claimed the job. */
export async function renewClaim(trx: Trx, claim: Claim, leaseUntil: number): Promise<boolean> {
  const row = await trx
    .updateTable('jobs')
    .set({ dueAt: leaseUntil })
    .where('id', '=', claim.id)
    .where('owner', '=', claim.owner)
    .where('attempts', '=', claim.attempts)
    .returning('id')
    .executeTakeFirst()
  return row !== undefined
}

/**
 * Ends a claim. The job is removed (`dueAt` null) or becomes due at `dueAt`. Returns false if the claim was
 * lost.
 */
export async function releaseClaim(trx: Trx, claim: Claim, dueAt: number | null): Promise<boolean> {
  const row =
    dueAt === null
      ? await trx
          .deleteFrom('jobs')
          .where('id', '=', claim.id)
          .where('owner', '=', claim.owner)
          .where('attempts', '=', claim.attempts)
          .returning('id')
          .executeTakeFirst()
      : await trx
          .updateTable('jobs')
          .set({ owner: null, dueAt })
          .where('id', '=', claim.id)
          .where('owner', '=', claim.owner)
          .where('attempts', '=', claim.attempts)
          .returning('id')
          .executeTakeFirst()
  return row !== undefined
}

/** Makes the waiting jobs of a lane due now. Jobs that are due or claimed do not change. */
export async function makeLaneDue(trx: Trx, kind: string, lane: string, now: number): Promise<void> {
  await trx
    .updateTable('jobs')
    .set({ dueAt: now })
    .where('kind', '=', kind)
    .where('lane', '=', lane)
    .where('owner', 'is', null)
    .where('dueAt', '>', now)
    .execute()
  hintJobs(trx)
}
