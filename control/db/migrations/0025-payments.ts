import { type CreateTableBuilder, type Kysely, sql } from 'kysely'

type Table = CreateTableBuilder<string, string>

/** Migration 0025: top-ups with their refunds and disputes, what staff has to resolve, and the sandbox gateway. */
export async function createPaymentTables({ schema }: Kysely<unknown>): Promise<void> {
  await taxColumns(schema.createTable('topups').addColumn('id', 'text', (c) => c.primaryKey()) as Table)
    .addColumn('organizationId', 'text', (c) => c.notNull().references('organizations.id'))
    .addColumn('gateway', 'text', (c) => c.notNull())
    .addColumn('gatewayRef', 'text')
    .addColumn('status', 'text', (c) => c.notNull())
    .addColumn('amountPaise', 'bigint', (c) => c.notNull().check(sql`"amountPaise" > 0`))
    .addColumn('payablePaise', 'bigint', (c) => c.notNull())
    .addColumn('rate', 'text', (c) => c.notNull())
    .addColumn('recipient', 'text', (c) => c.notNull())
    .addColumn('paymentId', 'text')
    .addColumn('bankReference', 'text')
    .addColumn('createdBy', 'text', (c) => c.notNull())
    .addColumn('createdAt', 'bigint', (c) => c.notNull())
    .addColumn('expiresAt', 'bigint', (c) => c.notNull())
    .addColumn('paidAt', 'bigint')
    .addColumn('notifiedAt', 'bigint')
    .addColumn('settlementId', 'text')
    .addColumn('updatedAt', 'bigint', (c) => c.notNull())
    .addUniqueConstraint('topupsOrder', ['gateway', 'gatewayRef'])
    .addUniqueConstraint('topupsPayment', ['gateway', 'paymentId'])
    .execute()
  await schema.createIndex('topupsPaid').on('topups').columns(['gateway', 'paidAt']).execute()
  await taxColumns(
    schema
      .createTable('topupRefunds')
      .addColumn('gateway', 'text', (c) => c.notNull())
      .addColumn('refundId', 'text', (c) => c.notNull())
      .addColumn('topupId', 'text', (c) => c.notNull().references('topups.id')) as Table,
  )
    .addColumn('status', 'text', (c) => c.notNull())
    .addColumn('grossPaise', 'bigint', (c) => c.notNull())
    .addColumn('taxablePaise', 'bigint', (c) => c.notNull())
    .addColumn('createdAt', 'bigint', (c) => c.notNull())
    .addColumn('updatedAt', 'bigint', (c) => c.notNull())
    .addPrimaryKeyConstraint('topupRefundsKey', ['gateway', 'refundId'])
    .execute()
  await schema.createIndex('topupRefundsTopup').on('topupRefunds').column('topupId').execute()
  await schema
    .createTable('topupDisputes')
    .addColumn('gateway', 'text', (c) => c.notNull())
    .addColumn('disputeId', 'text', (c) => c.notNull())
    .addColumn('topupId', 'text', (c) => c.notNull().references('topups.id'))
    .addColumn('phase', 'text', (c) => c.notNull())
    .addColumn('status', 'text', (c) => c.notNull())
    .addColumn('amountPaise', 'bigint', (c) => c.notNull())
    .addColumn('createdAt', 'bigint', (c) => c.notNull())
    .addColumn('updatedAt', 'bigint', (c) => c.notNull())
    .addPrimaryKeyConstraint('topupDisputesKey', ['gateway', 'disputeId'])
    .execute()
  await schema.createIndex('topupDisputesTopup').on('topupDisputes').column('topupId').execute()
  await schema
    .createTable('paymentExceptions')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('gateway', 'text', (c) => c.notNull())
    .addColumn('kind', 'text', (c) => c.notNull())
    .addColumn('subject', 'text', (c) => c.notNull())
    .addColumn('organizationId', 'text')
    .addColumn('topupId', 'text')
    .addColumn('paymentId', 'text')
    .addColumn('amountPaise', 'bigint')
    .addColumn('details', 'text', (c) => c.notNull())
    .addColumn('createdAt', 'bigint', (c) => c.notNull())
    .addColumn('resolution', 'text')
    .addColumn('reason', 'text')
    .addColumn('resolvedBy', 'text')
    .addColumn('resolvedAt', 'bigint')
    .addUniqueConstraint('paymentExceptionsSubject', ['gateway', 'kind', 'subject'])
    .execute()
  await schema
    .createIndex('paymentExceptionsOrder')
    .on('paymentExceptions')
    .columns(['createdAt', 'id'])
    .execute()
  await schema
    .createTable('sandboxOrders')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('amountPaise', 'bigint', (c) => c.notNull())
    .addColumn('payments', 'text', (c) => c.notNull())
    .execute()
}

function taxColumns(table: Table): Table {
  let wider = table
  for (const head of ['cgstPaise', 'sgstPaise', 'utgstPaise', 'igstPaise']) {
    wider = wider.addColumn(head, 'bigint', (c) => c.notNull())
  }
  return wider
}
