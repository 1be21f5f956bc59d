import { EngineError } from '../../media/base/errors.js'
import { ulid } from '../../media/base/ids.js'
import type { GatewayPayment, PaymentGateway } from '../api/payment-gateway.js'
import type { Db } from '../db/database.js'

/**
 * Returns the gateway for development. Its checkout page has a button for each outcome, and its payments are no
 * money. It sends no events, so that the page itself reports a change.
 */
export function sandboxGateway(db: Db, wall: () => number): PaymentGateway {
  const read = async (ref: string) => {
    const order = await db.selectFrom('sandboxOrders').selectAll().where('id', '=', ref).executeTakeFirst()
    if (order === undefined) throw new EngineError('vendor_rejected', 'the sandbox gateway has no such order')
    return { ...order, payments: JSON.parse(order.payments) as GatewayPayment[] }
  }
  /** Changes the payments of an order in one transaction. */
  const change = (ref: string, edit: (payments: GatewayPayment[], amountPaise: number) => GatewayPayment[]) =>
    db.transaction().execute(async (trx) => {
      // Locks the row on PostgreSQL. SQLite has one writer at a time.
      const order = await trx
        .updateTable('sandboxOrders')
        .set((column) => ({ amountPaise: column.ref('amountPaise') }))
        .where('id', '=', ref)
        .returningAll()
        .executeTakeFirst()
      if (order === undefined) return
      const payments = edit(JSON.parse(order.payments) as GatewayPayment[], order.amountPaise)
      await trx
        .updateTable('sandboxOrders')
        .set({ payments: JSON.stringify(payments) })
        .where('id', '=', ref)
        .execute()
    })
  return {
    id: 'sandbox',
    real: false,
    async openOrder({ payablePaise }) {
      const id = `sandbox_order_${ulid(wall())}`
      await db.insertInto('sandboxOrders').values({ id, amountPaise: payablePaise, payments: '[]' }).execute()
      return id
    },
    readPayments: async (ref) => (await read(ref)).payments,
    readDispute: async () => null,
    readSettlement: async () => [],
    refund: async () => {
      throw new EngineError('vendor_rejected', 'the sandbox gateway refunds on its checkout page only')
    },
    checkoutForm: () => ({
      action: null,
      fields: {},
      buttons: [
        { label: 'Pay', value: 'pay', paid: false },
        { label: 'Decline', value: 'decline', paid: false },
        { label: 'Refund half', value: 'refund_half', paid: true },
        { label: 'Refund the rest', value: 'refund_rest', paid: true },
      ],
    }),
    async takeReturn({ ref }, fields) {
      const outcome = fields.get('outcome')
      await change(ref, (payments, amountPaise) => {
        const captured = payments.find(({ status }) => status === 'captured')
        if (captured === undefined) {
          if (outcome !== 'pay' && outcome !== 'decline') return payments
          const status = outcome === 'pay' ? 'captured' : 'failed'
          const id = `sandbox_pay_${ulid(wall())}`
          return [...payments, { id, amountPaise, currency: 'INR', status, bankReference: null, refunds: [] }]
        }
        if (outcome !== 'refund_half' && outcome !== 'refund_rest') return payments
        const left = amountPaise - captured.refunds.reduce((sum, refund) => sum + refund.amountPaise, 0)
        const refundPaise = outcome === 'refund_half' ? Math.min(left, Math.floor(amountPaise / 2)) : left
        if (refundPaise === 0) return payments
        const refund = {
          id: `sandbox_refund_${ulid(wall())}`,
          amountPaise: refundPaise,
          status: 'processed',
        } as const
        return payments.map((payment) =>
          payment === captured ? { ...payment, refunds: [...payment.refunds, refund] } : payment,
        )
      })
      return true
    },
    readNotice: () => null,
  }
}
