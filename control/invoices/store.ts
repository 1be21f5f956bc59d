import { olderThan, type Page, type PageRequest, pageOf } from '../api/pagination.js'
import { istMidnight } from '../base/ist.js'
import type { Db } from '../db/database.js'
import { findOwned } from '../db/owned-rows.js'
import type { InvoiceRow } from '../db/tables/invoices.js'
import type { DocumentContent } from './issue.js'

const DAY_MS = 24 * 3_600_000

/** Days (IST, `YYYY-MM-DD`) of issue, both inclusive. */
export interface InvoiceFilter {
  readonly from: string | null
  readonly to: string | null
  readonly kind?: InvoiceRow['kind'] | null
}

/** Returns a page of the tax documents of an organization, newest first. */
export async function listInvoices(
  db: Db,
  organizationId: string,
  { from, to, kind = null }: InvoiceFilter,
  page: PageRequest,
): Promise<Page<InvoiceRow>> {
  let query = db
    .selectFrom('invoices')
    .selectAll()
    .where('organizationId', '=', organizationId)
    .where(olderThan(page, 'issuedAt', 'id'))
  if (kind !== null) query = query.where('kind', '=', kind)
  if (from !== null) query = query.where('issuedAt', '>=', istMidnight(from))
  if (to !== null) query = query.where('issuedAt', '<', istMidnight(to) + DAY_MS)
  const rows = await query
    .orderBy('issuedAt', 'desc')
    .orderBy('id', 'desc')
    .limit(page.limit + 1)
    .execute()
  return pageOf(
    rows,
    page,
    ({ issuedAt, id }) => ({ key: issuedAt, id }),
    (row) => row,
  )
}

/**
 * Returns the invoices and credit notes of some days (IST, both inclusive) that were issued to registered recipients and have no
 * IRN, in the order of their numbers, each with the document that it corrects. Specimens are none.
 */
export async function listUnregistered(
  db: Db,
  { from, to }: { readonly from: string; readonly to: string },
): Promise<readonly { readonly row: InvoiceRow; readonly original: InvoiceRow | null }[]> {
  const rows = await db
    .selectFrom('invoices')
    .selectAll()
    .where('kind', 'in', ['invoice', 'credit_note'])
    .where('specimen', '=', 0)
    .where('issuedAt', '>=', istMidnight(from))
    .where('issuedAt', '<', istMidnight(to) + DAY_MS)
    .where('id', 'not in', db.selectFrom('invoiceRegistrations').select('invoiceId'))
    .orderBy('series')
    .orderBy('financialYear')
    .orderBy('seq')
    .execute()
  const supplies = rows.filter(
    ({ content }) => (JSON.parse(content) as DocumentContent).recipient.gstin !== null,
  )
  return Promise.all(
    supplies.map(async (row) => {
      const { organizationId, originalInvoiceId } = row
      const original =
        originalInvoiceId === null ? null : await findInvoice(db, organizationId, originalInvoiceId)
      return { row, original }
    }),
  )
}

/** Returns a tax document of an organization, or null. */
export function findInvoice(db: Db, organizationId: string, id: string): Promise<InvoiceRow | null> {
  return findOwned(db, 'invoices', organizationId, id)
}
