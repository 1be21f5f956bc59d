import { z } from 'zod'
import type { Clock } from '../../../media/base/clock.js'
import { EngineError } from '../../../media/base/errors.js'
import type { GatewayPayment, PaymentGateway, SettlementRow } from '../../api/payment-gateway.js'
import type { RazorpaySetting } from '../../config/payments.js'
import { openRazorpayApi } from './api.js'
import { isSignedReturn, readRazorpayNotice } from './webhook.js'

/*
 * Razorpay: orders, the hosted checkout, refunds, disputes and the settlement report.
 * https://razorpay.com/docs/api/orders/ .../payments/ .../refunds/ .../disputes/ .../settlements/fetch-recon/
 */

const Order = z.object({ id: z.string() })

const Refund = z.object({
  id: z.string(),
  amount: z.int(),
  status: z.enum(['pending', 'processed', 'failed']),
})

const Payment = z.object({
  id: z.string(),
  amount: z.int(),
  currency: z.string(),
  /** `refunded` follows `captured` after a full refund. */
  status: z.enum(['created', 'authorized', 'captured', 'refunded', 'failed']),
  captured: z.boolean(),
  acquirer_data: z
    .object({
      rrn: z.string().nullish(),
      utr: z.string().nullish(),
      bank_transaction_id: z.string().nullish(),
    })
    .nullish(),
})
type Payment = z.output<typeof Payment>

const Dispute = z.object({
  id: z.string(),
  payment_id: z.string(),
  amount: z.int(),
  amount_deducted: z.int(),
  status: z.enum(['open', 'under_review', 'won', 'lost', 'closed']),
  phase: z.string(),
})

const ReportRow = z.object({
  entity_id: z.string(),
  type: z.string(),
  debit: z.number(),
  credit: z.number(),
  amount: z.number(),
  settlement_id: z.string().nullish(),
  payment_id: z.string().nullish(),
  dispute_id: z.string().nullish(),
  order_receipt: z.string().nullish(),
})

const collection = <T extends z.ZodType>(item: T) => z.object({ items: z.array(item) })

/** Rows of a page of the settlement report, the most that Razorpay returns. */
const REPORT_PAGE = 1000

/** Returns the gateway with the keys of an account. */
export function razorpayGateway(setting: RazorpaySetting, clock: Clock): PaymentGateway {
  const api = openRazorpayApi(setting, clock)

  async function withRefunds(payment: Payment): Promise<GatewayPayment> {
    // An automatic refund of a payment that was never captured concerns no balance. `amount_refunded` is no guide: it
    // returns to zero when a refund fails.
    const path = `/payments/${payment.id}/refunds`
    const refunds = payment.captured
      ? (await api({ method: 'GET', path, answer: collection(Refund) })).items
      : []
    const { rrn, utr, bank_transaction_id } = payment.acquirer_data ?? {}
    return {
      id: payment.id,
      amountPaise: payment.amount,
      currency: payment.currency,
      status: payment.captured ? 'captured' : payment.status === 'failed' ? 'failed' : 'pending',
      bankReference: utr ?? rrn ?? bank_transaction_id ?? null,
      refunds: refunds.map(({ id, amount, status }) => ({ id, amountPaise: amount, status })),
    }
  }

  return {
    id: 'razorpay',
    real: true,
    async openOrder({ receipt, payablePaise }) {
      const body = { amount: payablePaise, currency: 'INR', receipt, notes: { topup: receipt } }
      return (await api({ method: 'POST', path: '/orders', body, answer: Order })).id
    },
    async readPayments(orderRef) {
      const answer = collection(Payment)
      const { items } = await api({
        method: 'GET',
        path: `/orders/${encodeURIComponent(orderRef)}/payments`,
        answer,
      })
      return Promise.all(items.map(withRefunds))
    },
    async readDispute(disputeId) {
      try {
        const found = await api({
          method: 'GET',
          path: `/disputes/${encodeURIComponent(disputeId)}`,
          answer: Dispute,
        })
        const { id, payment_id: paymentId, phase, status, amount, amount_deducted } = found
        return { id, paymentId, phase, status, amountPaise: amount, deductedPaise: amount_deducted }
      } catch (error) {
        if (error instanceof EngineError && error.context?.status === 404) return null
        throw error
      }
    },
    async readSettlement(day) {
      const [year = '', month = '', date = ''] = day.split('-').map((part) => String(Number(part)))
      const rows: SettlementRow[] = []
      for (let page = REPORT_PAGE; page === REPORT_PAGE; ) {
        const query = `year=${year}&month=${month}&day=${date}&count=${REPORT_PAGE}&skip=${rows.length}`
        const answer = collection(ReportRow)
        const { items } = await api({ method: 'GET', path: `/settlements/recon/combined?${query}`, answer })
        rows.push(...items.map(reportRow))
        page = items.length
      }
      return rows
    },
    async refund({ paymentId, amountPaise, key }) {
      await api({
        method: 'POST',
        path: `/payments/${encodeURIComponent(paymentId)}/refund`,
        headers: { 'x-refund-idempotency': key },
        body: { amount: amountPaise, speed: 'normal', receipt: key },
        answer: Refund,
      })
    },
    checkoutForm: ({ ref, topupId, payablePaise }, pageUrl) => ({
      action: `${setting.url}/checkout/embedded`,
      fields: {
        key_id: setting.keyId,
        amount: String(payablePaise),
        currency: 'INR',
        order_id: ref,
        name: 'Parley',
        description: `Wallet top-up ${topupId}`,
        callback_url: pageUrl,
        cancel_url: pageUrl,
      },
      buttons: [{ label: 'Continue to the payment', value: 'continue', paid: false }],
    }),
    takeReturn: async ({ ref }, fields) => isSignedReturn(setting.keySecret, ref, fields),
    readNotice: readRazorpayNotice,
  }
}

function reportRow(row: z.output<typeof ReportRow>): SettlementRow {
  const { entity_id: id, type, credit, debit, amount } = row
  const known = type === 'payment' || type === 'refund' || type === 'adjustment' ? type : 'other'
  return {
    type: known,
    id,
    // The amount of a payment is gross; the credit is without the fee of the gateway.
    amountPaise: known === 'adjustment' ? debit - credit : amount,
    paymentId: row.payment_id ?? null,
    disputeId: row.dispute_id ?? null,
    receipt: row.order_receipt ?? null,
    settlementId: row.settlement_id ?? null,
  }
}
