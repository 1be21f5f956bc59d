import { type Kysely, sql } from 'kysely'
import type { Dialect } from '../database.js'

/** Migration 0039: changes that the dashboards of an organization are told about. */
export async function createLiveChanges({ schema }: Kysely<unknown>, dialect: Dialect): Promise<void> {
  const table = schema
    .createTable('liveChanges')
    .addColumn('organizationId', 'text', (c) => c.notNull())
    .addColumn('environment', 'text')
    .addColumn('kind', 'text', (c) => c.notNull())
    .addColumn('subjectId', 'text', (c) => c.notNull())
    .addColumn('at', 'bigint', (c) => c.notNull())
  // The order of commits: numbers alone are given before the commit. SQLite has one writer at a time.
  const ordered =
    dialect === 'postgres'
      ? table
          .addColumn('seq', 'bigint', (c) => c.generatedAlwaysAsIdentity().primaryKey())
          .addColumn('transaction', 'bigint', (c) =>
            c.notNull().defaultTo(sql`(pg_current_xact_id()::text::bigint)`),
          )
      : table
          .addColumn('seq', 'integer', (c) => c.primaryKey().autoIncrement())
          .addColumn('transaction', 'bigint', (c) => c.notNull().defaultTo(0))
  await ordered.execute()
  await schema.createIndex('liveChangesOrder').on('liveChanges').columns(['transaction', 'seq']).execute()
  await schema.createIndex('liveChangesAt').on('liveChanges').column('at').execute()
}
