import { type Kysely, sql } from 'kysely'

/** Migration 0024: purchases of numbers, their carrier's id, and the stock of the simulated carrier. */
export async function createNumberPurchases({ schema }: Kysely<unknown>): Promise<void> {
  await schema.alterTable('numbers').addColumn('carrierNumberId', 'text').execute()
  await schema.alterTable('numbers').addColumn('inboundReason', 'text').execute()
  await schema
    .createTable('numberPurchases')
    .addColumn('numberId', 'text', (c) => c.primaryKey().references('numbers.id'))
    .addColumn('organizationId', 'text', (c) => c.notNull().references('organizations.id'))
    .addColumn('environment', 'text', (c) => c.notNull())
    .addColumn('idempotencyId', 'text', (c) => c.notNull().unique())
    .addColumn('totalPaise', 'bigint', (c) => c.notNull())
    .addColumn('askedAt', 'bigint')
    .addColumn('failureCode', 'text')
    .addColumn('failureReason', 'text')
    .addColumn('createdAt', 'bigint', (c) => c.notNull())
    .execute()
  await schema
    .createTable('sandboxPurchases')
    .addColumn('e164', 'text', (c) => c.primaryKey())
    .addColumn('reference', 'text', (c) => c.notNull())
    .addColumn('boughtAt', 'bigint', (c) => c.notNull())
    .execute()
  await schema
    .createIndex('numbersRental')
    .on('numbers')
    .column('nextRentalAt')
    .where(sql.ref('releasedAt'), 'is', null)
    .execute()
}
