import { EngineError } from '../../media/base/errors.js'
import { newId } from '../../media/base/ids.js'
import { istDate } from '../base/ist.js'
import { financialYear } from '../billing/financial-year.js'
import { type GstRate, type TaxedAmount, taxTotal } from '../billing/gst.js'
import type { UsePeriod } from '../billing/use-period.js'
import type { DocumentKind, GstSetting, Supplier } from '../config/payments.js'
import type { Trx } from '../db/database.js'
import type { InvoiceRow } from '../db/tables/invoices.js'

/** Billing details as they were when the top-up was started. */
export interface Recipient {
  readonly name: string
  readonly address: string
  readonly city: string | null
  readonly pincode: string | null
  readonly stateCode: string
  readonly gstin: string | null
  /** True for a unit or a developer of a special economic zone. Missing on documents from before the question. */
  readonly sez?: boolean
}

/** Content of a document besides its numbers and amounts. */
export interface DocumentContent {
  readonly supplier: Supplier
  readonly recipient: Recipient
  /** GST code of a state. */
  readonly placeOfSupply: string
  readonly rate: GstRate
  /** Payment of an invoice, refund of a credit note. */
  readonly paymentId: string
  readonly bankReference: string | null
  /** Days of the use that an invoice after a receipt voucher is about. Missing on other documents. */
  readonly period?: UsePeriod
  /** True if the portal has to register the document. Missing on other documents. */
  readonly eInvoice?: true
  /** Number and time of the document that this one refers to. */
  readonly original: { readonly number: string; readonly issuedAt: number } | null
}

/** Series of specimens. A setting cannot choose it, because its prefixes have at most two characters. */
const SPECIMEN_SERIES = 'TST'
const MAX_SEQ = 999_999

/** Cause and amounts of a document to issue. */
export interface Issue extends TaxedAmount {
  readonly organizationId: string
  readonly kind: DocumentKind
  readonly specimen: boolean
  readonly topupId: string
  readonly cause: 'payment' | `use:${string}` | `refund:${string}`
  readonly original: InvoiceRow | null
  readonly gst: GstSetting
  readonly content: Omit<DocumentContent, 'original' | 'supplier' | 'eInvoice'>
}

/**
 * Issues a tax document with the next number of its series. Runs in the transaction of the movement of money, so
 * that a number is taken only by a document that exists. Returns the document that was issued before for the same
 * cause, if there is one.
 */
export async function issueDocument(trx: Trx, issue: Issue, now: number): Promise<InvoiceRow> {
  const { organizationId, kind, specimen, topupId, cause, original, gst, content, taxablePaise, tax } = issue
  const earlier = await findByCause(trx, topupId, cause)
  if (earlier !== null) return earlier
  const series = specimen ? SPECIMEN_SERIES : gst.series[kind]
  const year = financialYear(istDate(now))
  const { last: seq } = await trx
    .insertInto('invoiceSeries')
    .values({ series, financialYear: year, last: 1 })
    .onConflict((conflict) =>
      conflict
        .columns(['series', 'financialYear'])
        .doUpdateSet((column) => ({ last: column('invoiceSeries.last', '+', 1) })),
    )
    .returning('last')
    .executeTakeFirstOrThrow()
  // Rule 46(b) allows 16 characters.
  if (seq > MAX_SEQ) throw new EngineError('internal', `the number series ${series} of ${year} is used up`)
  const said: DocumentContent = {
    ...content,
    supplier: gst.supplier,
    original: original === null ? null : { number: original.number, issuedAt: original.issuedAt },
    ...(needsRegistration(issue, now) ? { eInvoice: true as const } : {}),
  }
  const row: InvoiceRow = {
    id: newId('inv', now),
    organizationId,
    kind,
    number: `${series}/${year}/${String(seq).padStart(6, '0')}`,
    series,
    financialYear: year,
    seq,
    specimen: specimen ? 1 : 0,
    issuedAt: now,
    topupId,
    cause,
    originalInvoiceId: original?.id ?? null,
    content: JSON.stringify(said),
    taxablePaise,
    ...tax,
    // Payments are made in paise, so that nothing is rounded off.
    roundOffPaise: 0,
    totalPaise: taxablePaise + taxTotal(tax),
  }
  await trx.insertInto('invoices').values(row).execute()
  return row
}

/** Invoices and credit notes to registered recipients are e-invoices, from a turnover on that the supplier knows (rule 48(4)). */
function needsRegistration({ kind, specimen, content, gst }: Issue, now: number): boolean {
  const { eInvoicesFrom } = gst
  if (eInvoicesFrom === null || istDate(now) < eInvoicesFrom) return false
  return !specimen && content.recipient.gstin !== null && (kind === 'invoice' || kind === 'credit_note')
}

/** Returns the document of a top-up that was issued for a cause, or null. */
export async function findByCause(trx: Trx, topupId: string, cause: string): Promise<InvoiceRow | null> {
  const row = await trx
    .selectFrom('invoices')
    .selectAll()
    .where('topupId', '=', topupId)
    .where('cause', '=', cause)
    .executeTakeFirst()
  return row ?? null
}
