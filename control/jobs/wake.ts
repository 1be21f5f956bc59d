import { sql } from 'kysely'
import type { Db, Trx } from '../db/database.js'
import { hintJobs } from './hints.js'

/*
 * A job that looks at a state, and that every change of the state wakes. The change and the end of the job both write
 * the job's row, so that one waits for the other: the job either sees a change, or is woken by it.
 */

export interface WakeableJob {
  readonly id: string
  readonly kind: string
  readonly lane: string
  readonly payload: string
}

/** Makes a job due now, or adds it. A running job looks again. Call it in the transaction of the change. */
export async function wakeJob(trx: Trx, job: WakeableJob, now: number): Promise<void> {
  await trx
    .insertInto('jobs')
    .values({ ...job, dueAt: now, owner: null, attempts: 0, wakes: 1, createdAt: now })
    .onConflict((conflict) =>
      conflict.column('id').doUpdateSet({
        dueAt: sql<number>`case when "jobs"."owner" is null then ${now} else "jobs"."dueAt" end`,
        wakes: sql<number>`"jobs"."wakes" + 1`,
      }),
    )
    .execute()
  hintJobs(trx)
}

/** Returns how often a job was woken. Read it before the state. */
export async function readWakes(db: Db, id: string): Promise<number> {
  const row = await db.selectFrom('jobs').select('wakes').where('id', '=', id).executeTakeFirst()
  return row?.wakes ?? 0
}

/** Locks a job until the end of the transaction and returns how often it was woken. Call it first in the outcome. */
export async function lockWakes(trx: Trx, id: string): Promise<number> {
  const row = await trx
    .updateTable('jobs')
    .set((column) => ({ wakes: column.ref('wakes') }))
    .where('id', '=', id)
    .returning('wakes')
    .executeTakeFirst()
  return row?.wakes ?? 0
}
