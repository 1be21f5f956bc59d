import type { Kysely } from 'kysely'

/** Migration 0036: requests about a live call for the process that carries it. */
export async function createCallRequests({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .createTable('callRequests')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('callId', 'text', (c) => c.notNull().references('calls.id'))
    .addColumn('nodeId', 'text', (c) => c.notNull())
    .addColumn('kind', 'text', (c) => c.notNull())
    .addColumn('body', 'text', (c) => c.notNull())
    .addColumn('createdAt', 'bigint', (c) => c.notNull())
    .addColumn('takenAt', 'bigint')
    .addColumn('answer', 'text')
    .execute()
  await schema.createIndex('callRequestsNode').on('callRequests').columns(['nodeId', 'takenAt']).execute()
}
