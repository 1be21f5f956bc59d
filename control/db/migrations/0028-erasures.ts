import { type Kysely, sql } from 'kysely'

/** Migration 0028: erasures of persons. */
export async function createErasures({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .createTable('erasures')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('organizationId', 'text', (c) => c.notNull().references('organizations.id'))
    .addColumn('environment', 'text', (c) => c.notNull())
    .addColumn('e164', 'text')
    .addColumn('state', 'text', (c) => c.notNull())
    .addColumn('delayReason', 'text')
    .addColumn('scheduledFor', 'bigint')
    .addColumn('calls', 'integer', (c) => c.notNull())
    .addColumn('records', 'integer', (c) => c.notNull())
    .addColumn('createdAt', 'bigint', (c) => c.notNull())
    .addColumn('completedAt', 'bigint')
    .execute()
  // Requests for a number whose erasure has not ended find the same one.
  await schema
    .createIndex('erasuresOpen')
    .unique()
    .on('erasures')
    .columns(['organizationId', 'environment', 'e164'])
    .where(sql.ref('e164'), 'is not', null)
    .execute()
}
