import { istDate, istMidnight } from '../base/ist.js'
import { divideUse, NO_TAX, type TaxedAmount, without } from '../billing/gst.js'
import { type UsePeriod, usePeriodOf } from '../billing/use-period.js'
import type { GstSetting } from '../config/payments.js'
import type { Db, Trx } from '../db/database.js'
import type { InvoiceRow, UsePeriodRow } from '../db/tables/invoices.js'
import { findEntry, lockWallet } from '../wallet/ledger.js'
import { type Advance, chargeAdvances, type UseStep } from './charge-advances.js'
import { type DocumentContent, issueDocument } from './issue.js'

/*
 * A receipt voucher taxes money when it is paid. Use of it gets a tax invoice, which names the tax of the voucher
 * again but asks for none: the tax of all documents that follow a voucher is never more than the voucher's.
 */

/** State of an advance: the rest of a receipt voucher after the documents that follow it. */
export interface AdvanceState {
  /** Value and tax that no document has named. */
  readonly left: TaxedAmount
  /** Value and tax that invoices and refund vouchers name. */
  readonly named: TaxedAmount
  /** Invoices about use, newest first, each with what no credit note took from it. */
  readonly invoices: readonly { readonly row: InvoiceRow; readonly standing: TaxedAmount }[]
}

/** Reads what was used and refunded of the payment of a receipt voucher. */
export async function readAdvance(trx: Trx, voucher: InvoiceRow): Promise<AdvanceState> {
  const rows = await trx
    .selectFrom('invoices')
    .selectAll()
    .where('topupId', '=', voucher.topupId)
    .orderBy('issuedAt', 'desc')
    .orderBy('id', 'desc')
    .execute()
  const named = rows
    .filter(({ kind }) => kind === 'invoice' || kind === 'refund_voucher')
    .map(amountOf)
    .reduce(plus, { taxablePaise: 0, tax: NO_TAX })
  const invoices = rows
    .filter(({ kind }) => kind === 'invoice')
    .map((row) => ({
      row,
      standing: rows
        .filter(({ kind, originalInvoiceId }) => kind === 'credit_note' && originalInvoiceId === row.id)
        .map(amountOf)
        .reduce(without, amountOf(row)),
    }))
  return { left: without(amountOf(voucher), named), named, invoices }
}

/** Returns value and tax of a document. */
export function amountOf(row: InvoiceRow): TaxedAmount {
  const { taxablePaise, cgstPaise, sgstPaise, utgstPaise, igstPaise } = row
  return { taxablePaise, tax: { cgstPaise, sgstPaise, utgstPaise, igstPaise } }
}

function plus(a: TaxedAmount, b: TaxedAmount): TaxedAmount {
  return {
    taxablePaise: a.taxablePaise + b.taxablePaise,
    tax: {
      cgstPaise: a.tax.cgstPaise + b.tax.cgstPaise,
      sgstPaise: a.tax.sgstPaise + b.tax.sgstPaise,
      utgstPaise: a.tax.utgstPaise + b.tax.utgstPaise,
      igstPaise: a.tax.igstPaise + b.tax.igstPaise,
    },
  }
}

/** Returns the organizations that have receipt vouchers. */
export async function organizationsWithVouchers(db: Db): Promise<readonly string[]> {
  const rows = await db
    .selectFrom('invoices')
    .select('organizationId')
    .distinct()
    .where('kind', '=', 'receipt_voucher')
    .orderBy('organizationId')
    .execute()
  return rows.map(({ organizationId }) => organizationId)
}

/**
 * Invoices what an organization used of its receipt vouchers in the oldest period that is over and not invoiced. Returns
 * false if there is none. Entries of the ledger count in the period in which they were made, those that came late in the
 * next one: each counts once.
 */
export async function invoiceNextPeriod(
  trx: Trx,
  organizationId: string,
  gst: GstSetting,
  now: number,
): Promise<boolean> {
  const wallet = await lockWallet(trx, organizationId, now)
  const last = await lastPeriod(trx, organizationId)
  const vouchers = await openVouchers(trx, organizationId)
  const [oldest] = vouchers
  if (oldest === undefined) return false
  const period = last === null ? usePeriodOf(istDate(oldest.row.issuedAt)) : usePeriodOf(last.endsBefore)
  if (istDate(now) < period.before) return false
  const first = (last?.lastSeq ?? oldest.seq - 1) + 1
  const lastSeq = await lastSeqBefore(trx, organizationId, first, period, wallet.entries)
  const { steps, earlier } = await stepsOf(trx, organizationId, vouchers, first, lastSeq)
  const { charged, givenBackPaise } = chargeAdvances(earlier, steps, last?.givenBackPaise ?? 0)
  for (const { row } of vouchers) {
    const paise = charged.get(row.topupId)
    if (paise !== undefined) await invoiceUse(trx, row, paise, period, gst, now)
  }
  const closed = {
    startsOn: period.startsOn,
    endsBefore: period.before,
    lastSeq,
    givenBackPaise,
    closedAt: now,
  }
  await trx
    .insertInto('usePeriods')
    .values({ organizationId, ...closed })
    .execute()
  return true
}

interface OpenVoucher {
  readonly row: InvoiceRow
  /** Number of its entry in the ledger. */
  readonly seq: number
  /** Balance before its payment. */
  readonly balancePaise: number
}

async function lastPeriod(trx: Trx, organizationId: string): Promise<UsePeriodRow | null> {
  const row = await trx
    .selectFrom('usePeriods')
    .selectAll()
    .where('organizationId', '=', organizationId)
    .orderBy('startsOn', 'desc')
    .limit(1)
    .executeTakeFirst()
  return row ?? null
}

/** Returns the receipt vouchers of which something is left, oldest first. */
async function openVouchers(trx: Trx, organizationId: string): Promise<readonly OpenVoucher[]> {
  const rows = await trx
    .selectFrom('invoices as voucher')
    .innerJoin('topups', 'topups.id', 'voucher.topupId')
    .selectAll('voucher')
    .select(['topups.gateway', 'topups.paymentId'])
    .where('voucher.organizationId', '=', organizationId)
    .where('voucher.kind', '=', 'receipt_voucher')
    .where(({ eb, fn, selectFrom }) =>
      eb(
        'voucher.taxablePaise',
        '>',
        fn.coalesce(
          selectFrom('invoices as named')
            .select((named) => named.fn.sum<number>('named.taxablePaise').as('paise'))
            .whereRef('named.topupId', '=', 'voucher.topupId')
            .where('named.kind', 'in', ['invoice', 'refund_voucher']),
          eb.lit(0),
        ),
      ),
    )
    .execute()
  const open: OpenVoucher[] = []
  for (const { gateway, paymentId, ...row } of rows) {
    const entry = await findEntry(trx, organizationId, `topup:${gateway}:${paymentId}`)
    if (entry === null) continue
    open.push({ row, seq: entry.seq, balancePaise: entry.balanceAfterPaise - entry.amountPaise })
  }
  return open.toSorted((a, b) => a.seq - b.seq)
}

/** Returns the number of the last entry before the first one that was made after the period. */
async function lastSeqBefore(
  trx: Trx,
  organizationId: string,
  first: number,
  { before }: UsePeriod,
  entries: number,
): Promise<number> {
  const { seq } = await trx
    .selectFrom('ledgerEntries')
    .select(({ fn }) => fn.min<number | null>('seq').as('seq'))
    .where('organizationId', '=', organizationId)
    .where('seq', '>=', first)
    .where('createdAt', '>=', istMidnight(before))
    .executeTakeFirstOrThrow()
  return seq === null ? entries : Number(seq) - 1
}

/** Returns the advances from before the period, and what happened in it. */
async function stepsOf(
  trx: Trx,
  organizationId: string,
  vouchers: readonly OpenVoucher[],
  first: number,
  last: number,
): Promise<{ readonly earlier: readonly Advance[]; readonly steps: readonly UseStep[] }> {
  const earlier: Advance[] = []
  const steps: UseStep[] = []
  let from = first
  const useUntil = async (seq: number): Promise<void> => {
    steps.push({ kind: 'use', paise: await usedPaise(trx, organizationId, from, seq) })
    from = seq + 1
  }
  for (const { row, seq, balancePaise } of vouchers) {
    if (seq > last) continue
    const { left } = await readAdvance(trx, row)
    const advance = { topupId: row.topupId, leftPaise: left.taxablePaise }
    if (seq < first) {
      earlier.push(advance)
      continue
    }
    await useUntil(seq)
    steps.push({ kind: 'advance', advance, debtPaise: Math.max(0, -balancePaise) })
  }
  await useUntil(last)
  return { earlier, steps }
}

/** Returns the charges of a range of entries less their reversals. Payments and adjustments are no use. */
async function usedPaise(trx: Trx, organizationId: string, first: number, last: number): Promise<number> {
  const { paise } = await trx
    .selectFrom('ledgerEntries')
    .select(({ fn }) => fn.sum<number | null>('amountPaise').as('paise'))
    .where('organizationId', '=', organizationId)
    .where('seq', '>=', first)
    .where('seq', '<=', last)
    .where('category', 'in', ['calls', 'numbers', 'compliance'])
    .executeTakeFirstOrThrow()
  return -Number(paise ?? 0)
}

/** Issues the tax invoice about the use of an advance in a period. */
async function invoiceUse(
  trx: Trx,
  voucher: InvoiceRow,
  taxablePaise: number,
  period: UsePeriod,
  gst: GstSetting,
  now: number,
): Promise<void> {
  const { named } = await readAdvance(trx, voucher)
  const { supplier: _, original: __, ...content } = JSON.parse(voucher.content) as DocumentContent
  await issueDocument(
    trx,
    {
      ...divideUse(amountOf(voucher), named, taxablePaise),
      organizationId: voucher.organizationId,
      kind: 'invoice',
      specimen: voucher.specimen === 1,
      topupId: voucher.topupId,
      cause: `use:${period.startsOn}`,
      original: voucher,
      gst,
      content: { ...content, period },
    },
    now,
  )
}
