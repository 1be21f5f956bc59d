import { type RawBuilder, type SqlBool, sql } from 'kysely'
import type { Db } from './database.js'
import type { Database } from './tables/schema.js'

/**
 * Deletes one batch of expired rows: those of up to `batch` keys that match `where`. Returns true if there may
 * be more. Small batches let other writers write in between.
 */
export async function sweep(
  db: Db,
  options: {
    readonly table: keyof Database
    readonly key: string
    /** True if several rows have the same key. */
    readonly grouped?: boolean
    readonly where: RawBuilder<SqlBool>
    readonly batch: number
  },
): Promise<boolean> {
  const { grouped = false, where, batch } = options
  const table = sql.table(options.table)
  const key = sql.ref(options.key)
  const keys = grouped ? sql`distinct ${key}` : key
  const { numAffectedRows = 0n } = await sql`
    delete from ${table} where ${key} in (select ${keys} from ${table} where ${where} limit ${sql.lit(batch)})`.execute(
    db,
  )
  return numAffectedRows >= BigInt(batch)
}
