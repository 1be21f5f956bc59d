import { type RawBuilder, sql } from 'kysely'
import type { Db, Trx } from './database.js'
import type { Database } from './tables/schema.js'

/**
 * Returns a text column as a value for which no index exists, for the owner of a row that is read by its id. PostgreSQL without
 * statistics (a new table, a restored database) would read all rows of the owner from the index of its list instead.
 */
export function unindexed(column: string): RawBuilder<string> {
  return sql<string>`(${sql.ref(column)} || '')`
}

/**
 * Returns a column of numbers as a value for which no index exists, for the order of a few rows that another condition selects. SQLite
 * without statistics, which the service does not collect, would read all rows of the organization from the index of their list instead.
 */
export function unindexedNumber(column: string): RawBuilder<number> {
  return sql<number>`(${sql.ref(column)} + 0)`
}

/** Tables whose rows belong to an organization and that other resources reference by id. */
type OwnedTable = 'connections' | 'knowledgeBases' | 'secrets' | 'transferDestinations'

/** Returns a row of the organization, or null. */
export async function findOwned<Table extends OwnedTable | 'invoices'>(
  db: Db | Trx,
  table: Table,
  organizationId: string,
  id: string,
): Promise<Database[Table] | null> {
  const row = await db
    .selectFrom(table as OwnedTable | 'invoices')
    .selectAll()
    .where('organizationId', '=', organizationId)
    .where('id', '=', id)
    .executeTakeFirst()
  return (row as Database[Table] | undefined) ?? null
}

/** Deletes a row of the organization and returns it; null if there is none. */
export async function deleteOwned<Table extends 'connections' | 'secrets'>(
  trx: Trx,
  table: Table,
  organizationId: string,
  id: string,
): Promise<Database[Table] | null> {
  const row = await trx
    .deleteFrom(table as 'connections' | 'secrets')
    .where('organizationId', '=', organizationId)
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirst()
  return (row as Database[Table] | undefined) ?? null
}

/** Returns the ids that are no row of the organization. */
export async function unknownIds(
  db: Db | Trx,
  table: OwnedTable,
  organizationId: string,
  ids: readonly string[],
): Promise<readonly string[]> {
  if (ids.length === 0) return []
  const rows = await db
    .selectFrom(table)
    .select('id')
    .where('organizationId', '=', organizationId)
    .where('id', 'in', ids)
    .execute()
  const known = new Set(rows.map((row) => row.id))
  return ids.filter((id) => !known.has(id))
}

/** Computes the ids to remove and to add. Unchanged rows are not touched: other transactions may wait for them. */
export function changedIds(
  before: readonly string[],
  after: readonly string[],
): { readonly removed: readonly string[]; readonly added: readonly string[] } {
  return {
    removed: before.filter((id) => !after.includes(id)),
    added: after.filter((id) => !before.includes(id)),
  }
}
