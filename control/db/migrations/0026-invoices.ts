import { type Kysely, sql } from 'kysely'
import { appendOnly } from './append-only.js'

/** Migration 0026: tax documents, which never change, and the numbers of their series. */
export async function createInvoiceTables(
  db: Kysely<unknown>,
  dialect: 'sqlite' | 'postgres',
): Promise<void> {
  const { schema } = db
  await schema
    .createTable('invoices')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('organizationId', 'text', (c) => c.notNull().references('organizations.id'))
    .addColumn('kind', 'text', (c) => c.notNull())
    .addColumn('number', 'text', (c) => c.notNull().unique())
    .addColumn('series', 'text', (c) => c.notNull())
    .addColumn('financialYear', 'text', (c) => c.notNull())
    .addColumn('seq', 'bigint', (c) => c.notNull())
    .addColumn('specimen', 'integer', (c) => c.notNull())
    .addColumn('issuedAt', 'bigint', (c) => c.notNull())
    .addColumn('topupId', 'text', (c) => c.notNull().references('topups.id'))
    .addColumn('cause', 'text', (c) => c.notNull())
    .addColumn('originalInvoiceId', 'text', (c) => c.references('invoices.id'))
    .addColumn('content', 'text', (c) => c.notNull())
    .addColumn('taxablePaise', 'bigint', (c) => c.notNull())
    .addColumn('cgstPaise', 'bigint', (c) => c.notNull())
    .addColumn('sgstPaise', 'bigint', (c) => c.notNull())
    .addColumn('utgstPaise', 'bigint', (c) => c.notNull())
    .addColumn('igstPaise', 'bigint', (c) => c.notNull())
    .addColumn('roundOffPaise', 'bigint', (c) => c.notNull())
    .addColumn('totalPaise', 'bigint', (c) => c.notNull())
    .addUniqueConstraint('invoicesSeries', ['series', 'financialYear', 'seq'])
    .addUniqueConstraint('invoicesCause', ['topupId', 'cause'])
    .execute()
  await schema
    .createIndex('invoicesList')
    .on('invoices')
    .columns(['organizationId', 'issuedAt', 'id'])
    .execute()
  await appendOnly(db, dialect, {
    table: 'invoices',
    columns: [
      ...['id', 'organizationId', 'kind', 'number', 'series', 'financialYear', 'seq', 'specimen', 'issuedAt'],
      ...['topupId', 'cause', 'originalInvoiceId', 'content', 'taxablePaise', 'cgstPaise', 'sgstPaise'],
      ...['utgstPaise', 'igstPaise', 'roundOffPaise', 'totalPaise'],
    ],
    settable: null,
    refusal: 'invoices are immutable',
  })
  await schema
    .createTable('invoiceSeries')
    .addColumn('series', 'text', (c) => c.notNull())
    .addColumn('financialYear', 'text', (c) => c.notNull())
    .addColumn('last', 'bigint', (c) => c.notNull().check(sql`"last" > 0`))
    .addPrimaryKeyConstraint('invoiceSeriesKey', ['series', 'financialYear'])
    .execute()
}
