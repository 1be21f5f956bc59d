import type { Kysely } from 'kysely'

/** Migration 0030: scrub files of the DND register. */
export async function createRegisterScrubs({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .createTable('registerScrubs')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('scrubbedAt', 'bigint', (c) => c.notNull())
    .addColumn('validUntil', 'bigint', (c) => c.notNull())
    .addColumn('createdAt', 'bigint', (c) => c.notNull())
    .addColumn('createdBy', 'text')
    .addColumn('importedAt', 'bigint')
    .addColumn('rows', 'bigint')
    .addColumn('sha256', 'text')
    .execute()
  // Ordered by number, because the gate asks for one.
  await schema
    .createTable('registerScrubNumbers')
    .addColumn('e164', 'text', (c) => c.notNull())
    .addColumn('scrubId', 'text', (c) => c.notNull().references('registerScrubs.id'))
    .addColumn('state', 'text', (c) => c.notNull())
    .addColumn('category', 'text')
    .addPrimaryKeyConstraint('registerScrubNumbersKey', ['e164', 'scrubId'])
    .execute()
  // Expired scrubs are removed as a whole.
  await schema
    .createIndex('registerScrubNumbersOfScrub')
    .on('registerScrubNumbers')
    .column('scrubId')
    .execute()
}
