import type { Kysely } from 'kysely'

/** Migration 0086: a value that tells whether a root key is the one of this database. At most one row. */
export async function createKeyChecks({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .createTable('keyChecks')
    .addColumn('id', 'integer', (c) => c.primaryKey())
    .addColumn('digest', 'text', (c) => c.notNull())
    .execute()
}
