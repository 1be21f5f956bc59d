import type { Kysely } from 'kysely'

/** Migration 0010: the last sign of life of each process. */
export async function createHeartbeats({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .createTable('nodeHeartbeats')
    .addColumn('nodeId', 'text', (c) => c.primaryKey())
    .addColumn('aliveAt', 'bigint', (c) => c.notNull())
    .execute()
}
