import { PostgresAdapter, type RawBuilder, sql } from 'kysely'
import type { Db, Trx } from './database.js'

/**
 * Returns the aggregate of all rows of a select as one text in JSON: an array of objects with these columns, in any order. Rows of another
 * table come back with a row in one statement, which saves a way to the database and back.
 */
export function jsonRows(db: Db | Trx, columns: readonly string[]): RawBuilder<string> {
  const isPostgres = db.getExecutor().adapter instanceof PostgresAdapter
  const [array, object] = isPostgres
    ? [sql.raw('json_agg'), sql.raw('json_build_object')]
    : [sql.raw('json_group_array'), sql.raw('json_object')]
  const members = sql.join(columns.map((name) => sql`${sql.lit(name)}, ${sql.ref(name)}`))
  return sql<string>`cast(coalesce(${array}(${object}(${members})), '[]') as text)`
}
