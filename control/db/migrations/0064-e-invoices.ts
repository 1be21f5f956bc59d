import type { Kysely } from 'kysely'
import { appendOnly } from './append-only.js'

/**
 * Migration 0064: the answers of Invoice Registration Portals, which never change, and the recipients in special economic zones,
 * whose documents differ.
 */
export async function createInvoiceRegistrations(
  db: Kysely<unknown>,
  dialect: 'sqlite' | 'postgres',
): Promise<void> {
  await db.schema
    .createTable('invoiceRegistrations')
    .addColumn('invoiceId', 'text', (c) => c.primaryKey().references('invoices.id'))
    .addColumn('irn', 'text', (c) => c.notNull().unique())
    .addColumn('ackNo', 'text', (c) => c.notNull())
    .addColumn('ackAt', 'bigint', (c) => c.notNull())
    .addColumn('signedQr', 'text', (c) => c.notNull())
    .addColumn('sha256', 'text')
    .addColumn('createdAt', 'bigint', (c) => c.notNull())
    .execute()
  await appendOnly(db, dialect, {
    table: 'invoiceRegistrations',
    columns: ['invoiceId', 'irn', 'ackNo', 'ackAt', 'signedQr', 'sha256', 'createdAt'],
    settable: 'sha256',
    refusal: 'invoices are immutable',
  })
  await db.schema
    .alterTable('organizationProfiles')
    .addColumn('billingSez', 'integer', (c) => c.notNull().defaultTo(0))
    .execute()
}
