import t from 'tap'
import { onEachDialect } from '../../fixtures/database/databases.js'
import { VirtualClock } from '../../fixtures/host/clock.js'
import { openPaymentsRig, type PaymentsRig } from '../../fixtures/payments/payments-rig.js'
import { silentLog } from '../../media/base/log.js'
import { istMidnight } from '../base/ist.js'
import type { InvoiceRow } from '../db/tables/invoices.js'
import { invoiceDocument } from '../invoices/document.js'
import { scheduleUseInvoices, useInvoicesHandler } from '../invoices/use-job.js'
import { openJobRunner } from '../jobs/runner.js'
import { post, reverse } from '../wallet/ledger.js'

/* Payments get receipt vouchers, and their use gets tax invoices: no paisa is taxed twice. */

const AFTER_FIRST_HALF = istMidnight('2025-01-16') + 3_600_000
const AFTER_MONTH = istMidnight('2025-02-01') + 3_600_000
const KINDS: readonly InvoiceRow['kind'][] = ['receipt_voucher', 'invoice', 'refund_voucher', 'credit_note']
const REFERENCE = { type: 'call', id: 'call_1' }

async function openVouchers(rig: PaymentsRig) {
  const { deps, clock } = rig.calling
  const { db, settings } = deps
  const { organizationId } = rig
  let uses = 0
  /** Time of the next charges. The clock of the service stands still: its polls would take long over weeks. */
  let now = clock.wall()
  return {
    /** Charges the wallet. */
    use: (paise: number, at = now) =>
      db.transaction().execute((trx) =>
        post(
          trx,
          organizationId,
          {
            type: 'call',
            amountPaise: -paise,
            cause: `call:${++uses}:agent`,
            description: 'Call',
            reference: REFERENCE,
          },
          at,
        ),
      ),
    /** Pays the order of a top-up. */
    async pay(order: number, amountPaise: number) {
      const orderId = rig.razorpay.orders[order]?.id ?? ''
      const id = `pay_${order}`
      const paid = {
        id,
        orderId,
        amount: amountPaise,
        currency: 'INR',
        status: 'captured',
        refunded: 0,
      } as const
      rig.razorpay.putPayment(paid)
      await rig.notify(rig.razorpay.event('payment.captured', { paymentId: id }))
    },
    async refund(order: number, refundId: string, amount: number) {
      const paymentId = `pay_${order}`
      rig.razorpay.putRefund({ id: refundId, paymentId, amount, status: 'processed' })
      await rig.notify(rig.razorpay.event('refund.processed', { paymentId, refundId }))
    },
    /** Lets two processes invoice what is due then. */
    async invoiceAt(wallMs: number) {
      now = wallMs
      const then = new VirtualClock({ wallMs })
      const options = { db, clock: then, gst: settings.gst }
      await scheduleUseInvoices(options)
      const handlers = [useInvoicesHandler(options)]
      const runners = [1, 2].map(() => openJobRunner({ db, clock: then, log: silentLog, handlers }))
      await Promise.all(runners.map((one) => one.idle()))
      for (const one of runners) await one.close()
    },
    /** The documents of a top-up: kind, value, tax, and number of the document that they refer to. */
    async documents(topupId: unknown) {
      const rows = await db
        .selectFrom('invoices')
        .selectAll()
        .where('topupId', '=', String(topupId))
        .orderBy('seq')
        .execute()
      const order = (row: InvoiceRow) => KINDS.indexOf(row.kind)
      return rows
        .toSorted((a, b) => order(a) - order(b))
        .map(({ kind, taxablePaise, totalPaise, originalInvoiceId }) => [
          kind,
          taxablePaise,
          totalPaise - taxablePaise,
          rows.find(({ id }) => id === originalInvoiceId)?.kind ?? null,
        ])
    },
  }
}

await onEachDialect(t, async (t, open) => {
  const start = async () => {
    const rig = await openPaymentsRig(await open(), 'razorpay', { advanceDocument: 'receipt_voucher' })
    return { rig, money: await openVouchers(rig) }
  }

  await t.test(
    'use is invoiced after half a month, refunds get the document of what they refund',
    async (t) => {
      const { rig, money } = await start()
      const first = await rig.topUp()
      const second = await rig.topUp(50_000)
      await money.pay(0, 118_000)
      t.same(await money.documents(first.id), [['receipt_voucher', 100_000, 18_000, null]])
      await money.use(30_001)
      await money.invoiceAt(AFTER_FIRST_HALF - 7_200_000)
      t.equal((await money.documents(first.id)).length, 1, 'the period is not over')
      await money.invoiceAt(AFTER_FIRST_HALF)
      await money.invoiceAt(AFTER_FIRST_HALF + 1_000)
      const afterFirst = [
        ['receipt_voucher', 100_000, 18_000, null],
        ['invoice', 30_001, 5_400, 'receipt_voucher'],
      ]
      t.same(await money.documents(first.id), afterFirst, 'once')

      // Made after the first period was invoiced, although its call ended before.
      await money.use(999, AFTER_FIRST_HALF - 3_600_001)
      const wrong = await money.use(20_000)
      await rig.calling.deps.db
        .transaction()
        .execute((trx) => reverse(trx, wrong, 'Wrong', rig.calling.clock.wall()))
      await money.pay(1, 59_000)
      // The first voucher covers 69,000 of it, the second one the rest.
      await money.use(94_000)
      await money.invoiceAt(AFTER_MONTH)
      t.same(await money.documents(first.id), [...afterFirst, ['invoice', 69_999, 12_600, 'receipt_voucher']])
      t.same(await money.documents(second.id), [
        ['receipt_voucher', 50_000, 9_000, null],
        ['invoice', 25_000, 4_500, 'receipt_voucher'],
      ])

      // 30,000 of 50,000 go back: 25,000 were not used, 5,000 were invoiced.
      await money.refund(1, 'rfnd_1', 35_400)
      t.same((await money.documents(second.id)).slice(2), [
        ['refund_voucher', 25_000, 4_500, 'receipt_voucher'],
        ['credit_note', 5_000, 900, 'invoice'],
      ])
      await money.refund(1, 'rfnd_2', 23_600)
      t.same((await money.documents(second.id)).at(-1), ['credit_note', 20_000, 3_600, 'invoice'])
      await money.invoiceAt(AFTER_MONTH + 20 * 86_400_000)
      t.equal((await money.documents(second.id)).length, 5, 'nothing is left of it')

      const { db } = rig.calling.deps
      const row = await db
        .selectFrom('invoices')
        .selectAll()
        .where('kind', '=', 'invoice')
        .orderBy('seq')
        .executeTakeFirstOrThrow()
      const text = JSON.stringify(invoiceDocument(row, null))
      for (const part of ['PI/24-25/000001', '2025-01-01 to 2025-01-15', 'PR/24-25/000001', 'Nothing is due'])
        t.match(text, part)
      await rig.close()
    },
  )

  await t.test('a debt is paid by the next voucher, other money is not invoiced', async (t) => {
    const { rig, money } = await start()
    const { id } = await rig.topUp()
    const { deps, clock } = rig.calling
    await deps.db.transaction().execute(async (trx) => {
      const gift = {
        cause: 'adjustment:gift',
        description: 'Gift',
        reference: { type: 'adjustment', id: 'gift' },
      }
      await post(trx, rig.organizationId, { type: 'adjustment', amountPaise: 10_000, ...gift }, clock.wall())
    })
    await money.use(12_500)
    await money.pay(0, 118_000)
    await money.use(1_000)
    await money.invoiceAt(AFTER_FIRST_HALF)
    t.same(await money.documents(id), [
      ['receipt_voucher', 100_000, 18_000, null],
      ['invoice', 3_500, 630, 'receipt_voucher'],
    ])
    await rig.close()
  })
})
