import type { Kysely } from 'kysely'

/** Migration 0044: rules of operators by which calls were decided. They are exported with the sealed records. */
export async function createGatePolicies({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .createTable('gatePolicies')
    .addColumn('version', 'text', (c) => c.primaryKey())
    .addColumn('rules', 'text', (c) => c.notNull())
    .addColumn('createdAt', 'bigint', (c) => c.notNull())
    .execute()
}
