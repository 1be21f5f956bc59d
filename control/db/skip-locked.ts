import { PostgresAdapter, type RawBuilder, sql } from 'kysely'
import type { Db, Trx } from './database.js'

/**
 * Returns the end of a sub-select whose rows an update claims. On PostgreSQL rows that another process claims at the
 * same time are skipped, so that no process waits for another. SQLite has one writer at a time and no such words.
 */
export function skipLocked(db: Db | Trx): RawBuilder<unknown> {
  return db.getExecutor().adapter instanceof PostgresAdapter ? sql`for update skip locked` : sql``
}
