import { sql } from 'kysely'
import type { Db, Trx } from '../db/database.js'
import type { JobRow } from '../db/tables/webhooks.js'

export interface NewJob {
  /** Unique over all kinds: adding a job that is there already does nothing. */
  readonly id: string
  readonly kind: string
  readonly lane?: string
  /** Unix ms. */
  readonly dueAt: number
  readonly payload?: string
}

/** A claim of a job: writes that name it fail once another runner has taken the job. */
export interface Claim {
  readonly id: string
  readonly owner: string
  /** Number of the claim; a later claim by the same runner has another one. */
  readonly attempts: number
}

/** Adds jobs, in the transaction of what they follow from. */
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
}

/**
 * Lanes of a kind with a job that is due, longest waiting first. Looks at one index entry per lane,
 * however many jobs wait in it.
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
    select lane from heads where due <= ${now} order by due limit ${limit}`.execute(db)
  return rows.map(({ lane }) => lane)
}

/**
 * Takes up to `limit` due jobs of a lane for `owner`, oldest first. Of two runners asking at once
 * each job goes to one: the condition is looked at again once the row's lock is had.
 */
export async function claimJobs(
  db: Db | Trx,
  wanted: {
    readonly kind: string
    readonly lane: string
    readonly owner: string
    readonly leaseMs: number
    readonly limit: number
  },
  now: number,
): Promise<readonly JobRow[]> {
  return await db
    .updateTable('jobs')
    .set((column) => ({
      owner: wanted.owner,
      dueAt: now + wanted.leaseMs,
      attempts: column('attempts', '+', 1),
    }))
    .where('id', 'in', (query) =>
      query
        .selectFrom('jobs')
        .select('id')
        .where('kind', '=', wanted.kind)
        .where('lane', '=', wanted.lane)
        .where('dueAt', '<=', now)
        .orderBy('dueAt')
        .limit(wanted.limit),
    )
    .where('dueAt', '<=', now)
    .returningAll()
    .execute()
}

/** Lengthens the leases of jobs that are still held. */
export async function renewClaims(db: Db, claims: readonly Claim[], leaseUntil: number): Promise<void> {
  const [first] = claims
  if (first === undefined) return
  await db
    .updateTable('jobs')
    .set({ dueAt: leaseUntil })
    .where('owner', '=', first.owner)
    .where(
      'id',
      'in',
      claims.map(({ id }) => id),
    )
    .execute()
}

/** Renews one lease; false, and nothing happens, when the job has gone to somebody else. */
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

/** Ends a claim: the job is over (`dueAt` null) or waits until then. False when it was lost before. */
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

/** Makes what waits in a lane due now. What is due already or held stays as it is. */
export async function makeLaneDue(trx: Trx, kind: string, lane: string, now: number): Promise<void> {
  await trx
    .updateTable('jobs')
    .set({ dueAt: now })
    .where('kind', '=', kind)
    .where('lane', '=', lane)
    .where('owner', 'is', null)
    .where('dueAt', '>', now)
    .execute()
}
