import type { Kysely } from 'kysely'
import { appendOnly } from './append-only.js'

/** Migration 0060: the files of tax documents. A document is drawn once and is the same for ever. */
export async function createInvoiceFiles(db: Kysely<unknown>, dialect: 'sqlite' | 'postgres'): Promise<void> {
  await db.schema
    .createTable('invoiceFiles')
    .addColumn('invoiceId', 'text', (c) => c.primaryKey().references('invoices.id'))
    .addColumn('sha256', 'text', (c) => c.notNull())
    .addColumn('createdAt', 'bigint', (c) => c.notNull())
    .execute()
  await appendOnly(db, dialect, {
    table: 'invoiceFiles',
    columns: ['invoiceId', 'sha256', 'createdAt'],
    settable: null,
    refusal: 'invoices are immutable',
  })
}
