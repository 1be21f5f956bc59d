import t from 'tap'
import { dataOf } from '../../fixtures/api/calling.js'
import { onEachDialect } from '../../fixtures/database/databases.js'
import { openPaymentsRig } from '../../fixtures/payments/payments-rig.js'
import { claimException, findException, releaseException } from '../payments/exceptions.js'

const errorOf = (answer: { body: unknown }) =>
  (answer.body as { error: { code: string; message: string } }).error

const PAID = 118_000
const HOUR_MS = 3_600_000

await onEachDialect(t, async (t, open) => {
  const shared = await openPaymentsRig(await open())
  /** A payment that staff may refund, and the decisions of staff about it. */
  const start = async () => {
    const rig = await shared.another()
    await rig.topUp()
    const orderId = rig.razorpay.orders.at(-1)?.id ?? ''
    const paymentId = `pay_less_${orderId}`
    const payment = { id: paymentId, orderId, amount: PAID - 1, currency: 'INR', refunded: 0 }
    rig.razorpay.putPayment({ ...payment, status: 'captured' })
    await rig.notify(rig.razorpay.event('payment.captured', { paymentId }))
    const [found] = await rig.exceptions()
    const id = found?.id ?? ''
    const resolve = async (resolution: string) =>
      rig.staff.send('POST', `/v1/staff/payment-exceptions/${id}/resolve`, {
        json: { resolution, reason: 'Paid too little.' },
      })
    return {
      ...rig,
      id,
      resolve,
      /** The money that went back according to the gateway. */
      asked: () => rig.razorpay.refundRequests.filter((asked) => asked.paymentId === paymentId).length,
      refundByHand: (amount: number) =>
        rig.razorpay.putRefund({ id: `rfnd_${paymentId}`, paymentId, amount, status: 'processed' }),
    }
  }

  await t.test('a repetition is rejected because the refund has happened', async (t) => {
    const it = await start()
    it.razorpay.mode = 'garbled'
    t.equal((await it.resolve('refund')).status, 503, 'the money moved, but the answer was lost')
    t.equal((await it.resolve('dismiss')).status, 409)
    it.razorpay.mode = 'up'
    t.match(dataOf(await it.resolve('refund')), { resolution: 'refund', resolvedAt: /Z$/ })
    t.equal(it.asked(), 2)
    t.equal((await it.resolve('dismiss')).status, 409, 'nobody credits by hand what went back')
  })

  await t.test('a rejected first attempt leaves the decision open', async (t) => {
    const it = await start()
    it.refundByHand(1)
    const rejected = await it.resolve('refund')
    t.same([rejected.status, errorOf(rejected).code], [422, 'provider_rejected'])
    t.match(dataOf(await it.resolve('dismiss')), { resolution: 'dismiss' })
  })

  await t.test('a rejected repetition decides nothing while the first attempt may succeed', async (t) => {
    const it = await start()
    it.razorpay.mode = 'down'
    t.equal((await it.resolve('refund')).status, 503)
    t.equal((await it.resolve('refund')).status, 503)
    it.razorpay.mode = 'up'
    it.refundByHand(1)
    const rejected = await it.resolve('refund')
    t.same([rejected.status, errorOf(rejected).code], [422, 'provider_rejected'])
    t.match(errorOf(rejected).message, /Repeat the refund in an hour/)
    t.equal((await it.resolve('dismiss')).status, 409)
    it.calling.clock.advance(HOUR_MS / 2)
    t.equal((await it.resolve('refund')).status, 422)
    t.equal((await it.resolve('dismiss')).status, 409)
    it.calling.clock.advance(HOUR_MS / 2)
    t.equal((await it.resolve('refund')).status, 422, 'rejected attempts do not begin the hour anew')
    t.match(dataOf(await it.resolve('dismiss')), { resolution: 'dismiss' }, 'none of them succeeded')
  })

  await t.test('a rejection gives up no claim but its own', async (t) => {
    const it = await start()
    const { db } = it.calling.deps
    const refund = { resolution: 'refund', reason: 'Twice at once.', resolvedBy: it.staff.userId }
    const first = await claimException(db, it.id, refund, 1)
    const second = await claimException(db, it.id, refund, 2)
    t.strictSame(
      [first, second],
      [
        { attempt: 1, earlierAt: null },
        { attempt: 2, earlierAt: 1 },
      ],
    )
    t.equal(await claimException(db, it.id, { ...refund, resolution: 'dismiss' }, 3), null)
    if (first !== null) await releaseException(db, it.id, first)
    t.match(await findException(db, it.id), { resolution: 'refund', attemptedAt: 2 })
    if (second !== null) await releaseException(db, it.id, second)
    t.match(await findException(db, it.id), { resolution: null, attemptedAt: null })
    t.match(await claimException(db, it.id, { ...refund, resolution: 'dismiss' }, 4), { earlierAt: null })
  })
  await shared.close()
})
