import { type Kysely, sql } from 'kysely'
import { appendOnly } from './append-only.js'

/** Migration 0016: wallets, their ledger and their holds. */
export async function createWalletTables(db: Kysely<unknown>, dialect: 'sqlite' | 'postgres'): Promise<void> {
  const { schema } = db
  await schema
    .createTable('wallets')
    .addColumn('organizationId', 'text', (c) => c.primaryKey().references('organizations.id'))
    .addColumn('balancePaise', 'bigint', (c) => c.notNull())
    .addColumn('heldPaise', 'bigint', (c) => c.notNull().check(sql`"heldPaise" >= 0`))
    .addColumn('thresholdPaise', 'bigint', (c) => c.notNull())
    .addColumn('low', 'integer', (c) => c.notNull())
    .addColumn('onHold', 'integer', (c) => c.notNull())
    .addColumn('holdReason', 'text')
    .addColumn('entries', 'bigint', (c) => c.notNull())
    .addColumn('haltedAt', 'bigint')
    .addColumn('checkedAt', 'bigint', (c) => c.notNull())
    .addColumn('updatedAt', 'bigint', (c) => c.notNull())
    .execute()
  await schema
    .createTable('ledgerEntries')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('organizationId', 'text', (c) => c.notNull().references('wallets.organizationId'))
    .addColumn('seq', 'bigint', (c) => c.notNull())
    .addColumn('type', 'text', (c) => c.notNull())
    .addColumn('category', 'text')
    .addColumn('amountPaise', 'bigint', (c) => c.notNull())
    .addColumn('balanceAfterPaise', 'bigint', (c) => c.notNull())
    .addColumn('description', 'text', (c) => c.notNull())
    .addColumn('referenceType', 'text', (c) => c.notNull())
    .addColumn('referenceId', 'text', (c) => c.notNull())
    .addColumn('agentId', 'text')
    .addColumn('reversesEntryId', 'text', (c) => c.references('ledgerEntries.id'))
    .addColumn('invoiceId', 'text')
    .addColumn('cause', 'text', (c) => c.notNull())
    .addColumn('countsAt', 'bigint', (c) => c.notNull())
    .addColumn('createdAt', 'bigint', (c) => c.notNull())
    .addUniqueConstraint('ledgerEntriesSeq', ['organizationId', 'seq'])
    .addUniqueConstraint('ledgerEntriesCause', ['organizationId', 'cause'])
    .execute()
  // Usage by period reads this index only.
  await schema
    .createIndex('ledgerEntriesUsage')
    .on('ledgerEntries')
    .columns(['organizationId', 'countsAt', 'category', 'agentId', 'amountPaise'])
    .execute()
  await appendOnly(db, dialect, {
    table: 'ledgerEntries',
    columns: [
      ...['id', 'organizationId', 'seq', 'type', 'category', 'amountPaise', 'balanceAfterPaise'],
      ...['description', 'referenceType', 'referenceId', 'agentId', 'reversesEntryId', 'invoiceId'],
      ...['cause', 'countsAt', 'createdAt'],
    ],
    settable: 'invoiceId',
    refusal: 'ledger entries are append-only',
  })
  await schema
    .createTable('walletHolds')
    .addColumn('organizationId', 'text', (c) => c.notNull().references('wallets.organizationId'))
    .addColumn('referenceType', 'text', (c) => c.notNull())
    .addColumn('referenceId', 'text', (c) => c.notNull())
    .addColumn('amountPaise', 'bigint', (c) => c.notNull().check(sql`"amountPaise" > 0`))
    .addColumn('extendAt', 'bigint')
    .addColumn('createdAt', 'bigint', (c) => c.notNull())
    .addPrimaryKeyConstraint('walletHoldsKey', ['organizationId', 'referenceType', 'referenceId'])
    .execute()
}
