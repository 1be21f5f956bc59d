import type { Kysely } from 'kysely'

/** Migration 0009: summaries, output variables and evaluations of calls. */
export async function createResultTables(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('callResults')
    .addColumn('callId', 'text', (c) => c.primaryKey().references('calls.id'))
    .addColumn('organizationId', 'text', (c) => c.notNull())
    .addColumn('state', 'text', (c) => c.notNull())
    .addColumn('summary', 'text')
    .addColumn('outputs', 'text', (c) => c.notNull())
    .addColumn('evaluation', 'text', (c) => c.notNull())
    .addColumn('error', 'text')
    .addColumn('announced', 'integer', (c) => c.notNull())
    .addColumn('createdAt', 'bigint', (c) => c.notNull())
    .addColumn('updatedAt', 'bigint', (c) => c.notNull())
    .execute()
}
