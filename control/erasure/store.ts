import { newId } from '../../media/base/ids.js'
import type { Db, Trx } from '../db/database.js'
import type { ErasureRow } from '../db/tables/erasures.js'
import { addJobs, type NewJob } from '../jobs/store.js'

export const ERASURE_KIND = 'erasure'

interface Owner {
  readonly organizationId: string
  readonly environment: 'test' | 'live'
}

/**
 * Inserts an erasure with its job. Returns the row, and whether it is new: a number whose erasure has not ended
 * keeps that one.
 */
export async function requestErasure(
  trx: Trx,
  { organizationId, environment }: Owner,
  e164: string,
  now: number,
): Promise<{ readonly row: ErasureRow; readonly isNew: boolean }> {
  const made = await trx
    .insertInto('erasures')
    .values({
      id: newId('ers', now),
      organizationId,
      environment,
      e164,
      state: 'pending',
      delayReason: null,
      scheduledFor: null,
      calls: 0,
      records: 0,
      createdAt: now,
      completedAt: null,
    })
    .onConflict((conflict) => conflict.doNothing())
    .returningAll()
    .executeTakeFirst()
  if (made !== undefined) {
    const job: NewJob = { id: `${ERASURE_KIND}:${made.id}`, kind: ERASURE_KIND, dueAt: now, payload: made.id }
    await addJobs(trx, [job], now)
    return { row: made, isNew: true }
  }
  const row = await trx
    .selectFrom('erasures')
    .selectAll()
    .where('organizationId', '=', organizationId)
    .where('environment', '=', environment)
    .where('e164', '=', e164)
    .executeTakeFirstOrThrow()
  return { row, isNew: false }
}

export async function findErasure(
  db: Db,
  { organizationId, environment }: Owner,
  id: string,
): Promise<ErasureRow | null> {
  const row = await db
    .selectFrom('erasures')
    .selectAll()
    .where('id', '=', id)
    .where('organizationId', '=', organizationId)
    .where('environment', '=', environment)
    .executeTakeFirst()
  return row ?? null
}
