import { sql } from 'kysely'
import type { Db } from '../db/database.js'
import { sweep } from '../db/sweep.js'

const DAY_MS = 24 * 3_600_000
/**
 * Days for which checks and sealed records of the test environment are kept, like the events that name them.
 * Those of live calls stay.
 */
export const TEST_RECORD_DAYS = 30
const BATCH = 500

/** Deletes expired checks of the test environment. */
export function sweepTestChecks(db: Db, now: number): Promise<boolean> {
  return sweep(db, { table: 'checks', key: 'id', where: expired('checkedAt', now), batch: BATCH })
}

/**
 * Deletes expired sealed records of the test environment, the oldest first. Each loses its number before: the
 * database keeps all others.
 */
export async function sweepTestEvidence(db: Db, now: number): Promise<boolean> {
  const { rows } = await sql<{ id: string }>`
    select "id" from "evidence" where ${expired('sealedAt', now)} order by "sealedAt" limit ${BATCH}`.execute(
    db,
  )
  const ids = rows.map(({ id }) => id)
  if (ids.length === 0) return false
  await db.transaction().execute(async (trx) => {
    await trx.updateTable('evidence').set({ e164: null }).where('id', 'in', ids).execute()
    await trx.deleteFrom('evidence').where('id', 'in', ids).execute()
  })
  return ids.length === BATCH
}

function expired(time: 'checkedAt' | 'sealedAt', now: number) {
  return sql<boolean>`"environment" = 'test' and ${sql.ref(time)} < ${now - TEST_RECORD_DAYS * DAY_MS}`
}
