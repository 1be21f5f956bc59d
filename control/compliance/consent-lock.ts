import { PostgresAdapter, sql } from 'kysely'
import type { Trx } from '../db/database.js'

/**
 * Keeps opt-outs and new consents of an organization apart until the commit: without it a consent that is recorded
 * while the person opts out would neither see the lockout nor be revoked. Consents do not wait for each other. Takes
 * the lock before any row of the two tables. SQLite has one writer at a time and needs none.
 */
export async function lockConsents(
  trx: Trx,
  organizationId: string,
  change: 'consent' | 'opt_out',
): Promise<void> {
  if (!(trx.getExecutor().adapter instanceof PostgresAdapter)) return
  const lock = sql.raw(change === 'opt_out' ? 'pg_advisory_xact_lock' : 'pg_advisory_xact_lock_shared')
  await sql`select ${lock}(hashtextextended(${`consents:${organizationId}`}, 0))`.execute(trx)
}
