import type { Log } from '../../media/base/log.js'
import type { GatewayPayment, GatewayRefund, PaymentGateway } from '../api/payment-gateway.js'
import { istDate } from '../base/ist.js'
import { lastCreditNoteDay } from '../billing/financial-year.js'
import { divideRefund, type GstRate, NO_TAX, type TaxedAmount, taxTotal, without } from '../billing/gst.js'
import type { GstSetting } from '../config/payments.js'
import type { Trx } from '../db/database.js'
import type { InvoiceRow } from '../db/tables/invoices.js'
import type { TopupRow } from '../db/tables/payments.js'
import { readAdvance } from '../invoices/advances.js'
import { findByCause, issueDocument, type Recipient } from '../invoices/issue.js'
import { availablePaise, findEntry, linkInvoice, lockWallet, post, reverse } from '../wallet/ledger.js'
import { keepException } from './exceptions.js'
import { topupStatus } from './topup-status.js'
import { findTopup, lockTopup, standingRefunds, sumOf, taxOf, updateTopup } from './topup-store.js'

export interface PaymentContext {
  readonly gateway: Pick<PaymentGateway, 'id' | 'real'>
  readonly gst: GstSetting
  readonly log: Log
}

/**
 * Brings a top-up to the state that the gateway reports: credits its payment once, debits its refunds once each, and
 * issues their documents. A payment that does not fit its order is kept for staff and never credited. Applying the
 * same report again, or an older one, moves no money.
 */
export async function applyPayments(
  trx: Trx,
  topupId: string,
  payments: readonly GatewayPayment[],
  context: PaymentContext,
  now: number,
): Promise<void> {
  let topup = await lockTopup(trx, topupId, now)
  // Before a number series: reports of two top-ups of one organization would otherwise wait for each other.
  if (payments.some(({ status }) => status === 'captured')) await lockWallet(trx, topup.organizationId, now)
  for (const payment of payments) {
    if (payment.status !== 'captured') continue
    if (topup.paymentId === null && fits(topup, payment)) {
      topup = await credit(trx, topup, payment, context, now)
    } else if (payment.id !== topup.paymentId) {
      await keepException(trx, misfit(topup, payment), now, context.log)
    }
    if (payment.id !== topup.paymentId) continue
    for (const refund of payment.refunds) await applyRefund(trx, topup, refund, context, now)
  }
  const declined =
    payments.some(({ status }) => status === 'failed') && !payments.some(({ status }) => status === 'pending')
  await refreshStatus(trx, topupId, declined, now)
}

/** Stores the status that follows from the payment, the refunds and the disputes of a top-up. */
export async function refreshStatus(
  trx: Trx,
  topupId: string,
  declined: boolean | null,
  now: number,
): Promise<void> {
  const topup = await findTopup(trx, topupId)
  if (topup === null) return
  const refunded = sumOf(await standingRefunds(trx, topupId))
  const disputes = await trx
    .selectFrom('topupDisputes')
    .select(['phase', 'status'])
    .where('topupId', '=', topupId)
    .where('phase', '<>', 'retrieval')
    .where('status', 'in', ['open', 'under_review', 'lost'])
    .execute()
  const status = topupStatus({
    paid: topup.paymentId !== null,
    declined: declined ?? topup.status === 'failed',
    expired: now >= topup.expiresAt,
    disputed: disputes.length > 0,
    refundedPaise: refunded.taxablePaise + taxTotal(refunded.tax),
    payablePaise: topup.payablePaise,
  })
  if (status !== topup.status) await updateTopup(trx, topupId, { status })
}

function fits(topup: TopupRow, { amountPaise, currency }: GatewayPayment): boolean {
  return currency === 'INR' && amountPaise === topup.payablePaise
}

function misfit(topup: TopupRow, payment: GatewayPayment) {
  const { id: topupId, gateway, organizationId, payablePaise } = topup
  return {
    gateway,
    kind: fits(topup, payment) ? 'second_payment' : 'amount_mismatch',
    subject: payment.id,
    organizationId,
    topupId,
    paymentId: payment.id,
    amountPaise: payment.amountPaise,
    details: { currency: payment.currency, payablePaise },
  } as const
}

async function credit(
  trx: Trx,
  topup: TopupRow,
  payment: GatewayPayment,
  context: PaymentContext,
  now: number,
): Promise<TopupRow> {
  const { id, organizationId, gateway, amountPaise } = topup
  const paid = { paymentId: payment.id, bankReference: payment.bankReference, paidAt: now }
  await updateTopup(trx, id, paid)
  const entry = await post(
    trx,
    organizationId,
    {
      type: 'topup',
      amountPaise,
      // Unique in the ledger as well: a payment is credited once, whatever happens to the row of the top-up.
      cause: `topup:${gateway}:${payment.id}`,
      description: `Top-up, payment ${payment.id}`,
      reference: { type: 'topup', id },
    },
    now,
  )
  const after = { ...topup, ...paid }
  const amount = { taxablePaise: amountPaise, tax: taxOf(topup) }
  const document = await issueDocument(
    trx,
    {
      ...issueOf(after, context.gst, amount, payment.id),
      specimen: !context.gateway.real,
      kind: context.gst.advanceDocument,
      cause: 'payment',
      original: null,
    },
    now,
  )
  await linkInvoice(trx, entry, document.id)
  return after
}

async function applyRefund(
  trx: Trx,
  topup: TopupRow,
  refund: GatewayRefund,
  context: PaymentContext,
  now: number,
): Promise<void> {
  const stored = await trx
    .selectFrom('topupRefunds')
    .selectAll()
    .where('gateway', '=', topup.gateway)
    .where('refundId', '=', refund.id)
    .executeTakeFirst()
  // Only a pending refund changes: a report that is older than the stored state is ignored.
  if (stored !== undefined && (stored.status !== 'pending' || refund.status === 'pending')) return
  const known = stored ?? (await debitRefund(trx, topup, refund, context, now))
  if (stored !== undefined) {
    await trx
      .updateTable('topupRefunds')
      .set({ status: refund.status, updatedAt: now })
      .where('gateway', '=', topup.gateway)
      .where('refundId', '=', refund.id)
      .execute()
  }
  if (stored !== undefined && refund.status === 'failed') {
    const entry = await findEntry(trx, topup.organizationId, refundCause(topup, refund.id))
    if (entry !== null) await reverse(trx, entry, `Refund ${refund.id} failed`, now)
    await debitLostDisputes(trx, topup, refund.id, context, now)
  }
  if (refund.status === 'processed' && known.grossPaise > 0) {
    const amount = { taxablePaise: known.taxablePaise, tax: taxOf(known) }
    await documentRefund(trx, topup, { refundId: refund.id }, amount, context, now)
  }
}

/**
 * Takes the value of a refund from the wallet and stores the refund. The tax was never part of the balance. A refund
 * that has failed before it was heard of takes nothing; it is stored, so that an older report of it takes nothing too.
 */
export async function debitRefund(
  trx: Trx,
  topup: TopupRow,
  refund: GatewayRefund,
  context: PaymentContext,
  now: number,
) {
  const { id, gateway } = topup
  const demandedPaise = refund.status === 'failed' ? 0 : refund.amountPaise
  const { grossPaise, part } = await refundablePart(trx, topup, demandedPaise)
  const row = {
    ...{ gateway, refundId: refund.id, topupId: id, status: refund.status, grossPaise },
    ...{ taxablePaise: part.taxablePaise, ...part.tax, createdAt: now, updatedAt: now },
  }
  await trx.insertInto('topupRefunds').values(row).execute()
  await postRefund(trx, topup, refund.id, refundCause(topup, refund.id), part.taxablePaise, context, now)
  return row
}

/**
 * Takes from the wallet what lost disputes could not take while a refund held the money that has now come back: a
 * dispute takes at most what the other refunds leave of a payment.
 */
async function debitLostDisputes(
  trx: Trx,
  topup: TopupRow,
  failedRefundId: string,
  context: PaymentContext,
  now: number,
): Promise<void> {
  const lost = await trx
    .selectFrom('topupDisputes')
    .innerJoin('topupRefunds', (join) =>
      join
        .onRef('topupRefunds.gateway', '=', 'topupDisputes.gateway')
        .onRef('topupRefunds.refundId', '=', 'topupDisputes.disputeId'),
    )
    .selectAll('topupRefunds')
    .select('topupDisputes.amountPaise')
    .where('topupDisputes.topupId', '=', topup.id)
    .where('topupDisputes.status', '=', 'lost')
    .orderBy('topupDisputes.disputeId')
    .execute()
  for (const { amountPaise, ...row } of lost) {
    const { grossPaise, part } = await refundablePart(trx, topup, amountPaise - row.grossPaise)
    if (grossPaise === 0) continue
    const whole = sumOf([row, { taxablePaise: part.taxablePaise, ...part.tax }])
    await trx
      .updateTable('topupRefunds')
      .set({
        grossPaise: row.grossPaise + grossPaise,
        taxablePaise: whole.taxablePaise,
        ...whole.tax,
        updatedAt: now,
      })
      .where('gateway', '=', row.gateway)
      .where('refundId', '=', row.refundId)
      .execute()
    const again = `:${failedRefundId}` as const
    const cause = `${refundCause(topup, row.refundId)}${again}`
    await postRefund(trx, topup, row.refundId, cause, part.taxablePaise, context, now)
    if (await isCredited(trx, topup, row.refundId))
      await documentRefund(trx, topup, { refundId: row.refundId, again }, part, context, now)
  }
}

/** Returns whether staff has issued the credit note of a lost dispute. */
async function isCredited(trx: Trx, { gateway }: TopupRow, disputeId: string): Promise<boolean> {
  const row = await trx
    .selectFrom('paymentExceptions')
    .select('id')
    .where('gateway', '=', gateway)
    .where('kind', '=', 'dispute_lost')
    .where('subject', '=', disputeId)
    .where('resolution', '=', 'credit_note')
    .executeTakeFirst()
  return row !== undefined
}

/** Returns how much of an amount the standing refunds leave of the payment, tax included, and its parts. */
async function refundablePart(
  trx: Trx,
  topup: TopupRow,
  demandedPaise: number,
): Promise<{ readonly grossPaise: number; readonly part: TaxedAmount }> {
  const earlier = sumOf(await standingRefunds(trx, topup.id))
  const left = topup.payablePaise - earlier.taxablePaise - taxTotal(earlier.tax)
  const grossPaise = Math.min(demandedPaise, left)
  const paid = { taxablePaise: topup.amountPaise, tax: taxOf(topup) }
  const part = grossPaise === 0 ? { taxablePaise: 0, tax: NO_TAX } : divideRefund(paid, earlier, grossPaise)
  return { grossPaise, part }
}

/** Takes the value of a refund or a lost dispute from the wallet. Staff hears of it when the money was spent. */
async function postRefund(
  trx: Trx,
  topup: TopupRow,
  refundId: string,
  cause: string,
  valuePaise: number,
  { log }: PaymentContext,
  now: number,
): Promise<void> {
  const { id, gateway, organizationId } = topup
  if (valuePaise > 0) {
    await post(
      trx,
      organizationId,
      {
        type: 'topup_refund',
        amountPaise: -valuePaise,
        cause,
        description: `Refund ${refundId} of a top-up`,
        reference: { type: 'topup', id },
      },
      now,
    )
  }
  const wallet = await lockWallet(trx, organizationId, now)
  if (availablePaise(wallet) < 0) {
    const exception = {
      gateway,
      kind: 'refund_exceeds_balance',
      subject: refundId,
      organizationId,
      topupId: id,
      amountPaise: valuePaise,
      details: { balancePaise: wallet.balancePaise, heldPaise: wallet.heldPaise },
    } as const
    await keepException(trx, exception, now, log)
  }
}

function refundCause({ gateway }: TopupRow, refundId: string): string {
  return `topup_refund:${gateway}:${refundId}`
}

/**
 * Issues the documents of a refund or a lost dispute. An invoice gets a credit note. A receipt voucher gets a refund voucher for
 * what was not used of it; the invoices about its use get credit notes for the rest, the newest first. After the last day for
 * credit notes the tax cannot be lowered any more, and staff decides. Returns false if a note came too late. `again` tells the
 * documents apart of one dispute that took money twice.
 */
export async function documentRefund(
  trx: Trx,
  topup: TopupRow,
  { refundId, again = '' }: { readonly refundId: string; readonly again?: `:${string}` | '' },
  amount: TaxedAmount,
  context: Omit<PaymentContext, 'gateway'>,
  now: number,
): Promise<boolean> {
  const original = await findByCause(trx, topup.id, 'payment')
  if (original === null) return true
  const parts: RefundPart[] = []
  if (original.kind === 'invoice') parts.push({ kind: 'credit_note', original, amount, of: '' })
  else {
    const { left, invoices } = await readAdvance(trx, original)
    const unused = amount.taxablePaise <= left.taxablePaise ? amount : left
    if (unused.taxablePaise > 0) parts.push({ kind: 'refund_voucher', original, amount: unused, of: '' })
    let used = without(amount, unused)
    for (const { row, standing } of invoices) {
      if (used.taxablePaise === 0) break
      const whole = used.taxablePaise <= standing.taxablePaise
      const part = whole ? used : standing
      parts.push({ kind: 'credit_note', original: row, amount: part, of: `:${row.number}` })
      used = without(used, part)
    }
  }
  const { id: topupId, gateway, organizationId } = topup
  let inTime = true
  for (const { kind, original: corrected, amount: part, of } of parts) {
    if (kind === 'credit_note' && istDate(now) > lastCreditNoteDay(istDate(corrected.issuedAt))) {
      const late = { gateway, kind: 'credit_note_late', subject: refundId, organizationId, topupId } as const
      await keepException(trx, late, now, context.log)
      inTime = false
      continue
    }
    const wanted = { ...issueOf(topup, context.gst, part, refundId), kind, original: corrected }
    const document = await issueDocument(
      trx,
      { ...wanted, specimen: corrected.specimen === 1, cause: `refund:${refundId}${again}${of}` },
      now,
    )
    const entry = await findEntry(trx, organizationId, `${refundCause(topup, refundId)}${again}`)
    if (entry !== null) await linkInvoice(trx, entry, document.id)
  }
  return inTime
}

/** A document of a refund. */
interface RefundPart {
  readonly kind: 'credit_note' | 'refund_voucher'
  readonly original: InvoiceRow
  readonly amount: TaxedAmount
  /** Tells the documents of one refund apart. */
  readonly of: string
}

function issueOf(topup: TopupRow, gst: GstSetting, amount: TaxedAmount, paymentId: string) {
  const recipient = JSON.parse(topup.recipient) as Recipient
  return {
    organizationId: topup.organizationId,
    topupId: topup.id,
    gst,
    ...amount,
    content: {
      recipient,
      placeOfSupply: recipient.stateCode,
      rate: JSON.parse(topup.rate) as GstRate,
      paymentId,
      bankReference: topup.bankReference,
    },
  }
}
