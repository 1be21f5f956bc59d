import { type Kysely, sql } from 'kysely'

/** Migration 0085: adjustments of wallets by staff, and the decisions of a second person about large ones. */
export async function createWalletAdjustments({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .createTable('walletAdjustments')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('organizationId', 'text', (c) => c.notNull().references('organizations.id'))
    .addColumn('amountPaise', 'bigint', (c) => c.notNull())
    .addColumn('reference', 'text', (c) => c.notNull())
    .addColumn('reason', 'text', (c) => c.notNull())
    .addColumn('status', 'text', (c) => c.notNull())
    .addColumn('requestedBy', 'text', (c) => c.notNull().references('users.id'))
    .addColumn('createdAt', 'bigint', (c) => c.notNull())
    .addColumn('decidedBy', 'text', (c) => c.references('users.id'))
    .addColumn('decidedAt', 'bigint')
    .addColumn('decisionReason', 'text')
    .execute()
  await schema
    .createIndex('walletAdjustmentsList')
    .on('walletAdjustments')
    .columns(['createdAt', 'id'])
    .execute()
  await schema
    .createIndex('walletAdjustmentsOfOrganization')
    .on('walletAdjustments')
    .columns(['organizationId', 'createdAt'])
    .execute()
  await schema
    .createIndex('walletAdjustmentsPending')
    .unique()
    .on('walletAdjustments')
    .columns(['organizationId', 'reference'])
    .where(sql.ref('status'), '=', sql.lit('pending'))
    .execute()
}
