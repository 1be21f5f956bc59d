import type { Trx } from '../db/database.js'
import type { NumberRow } from '../db/tables/calling.js'
import { addJobs } from '../jobs/store.js'
import { releaseNumber } from './store.js'

export const RELEASE_JOB = 'number-release'

/** Releases a number on our side at once, and at its carrier in the background. Returns false if it was released before. */
export async function giveBack(trx: Trx, number: NumberRow, now: number): Promise<boolean> {
  if (!(await releaseNumber(trx, number, number.id, now))) return false
  const { id } = number
  await addJobs(trx, [{ id: `${RELEASE_JOB}:${id}`, kind: RELEASE_JOB, dueAt: now, payload: id }], now)
  return true
}
