import t from 'tap'
import { isSignedReturn, razorpaySignature, readRazorpayNotice } from './webhook.js'

t.test('signatures of events and of returns', async (t) => {
  const body =
    '{"entity":"event","account_id":"acc_PARLEYTEST0001","event":"payment_link.paid","contains":["payment_link","order","payment"],"created_at":1764230400}'
  t.equal(
    razorpaySignature('whsec_parley_test', body),
    '125fc1782b898e6054a42ca029f9799629ccb476b06ecd32c1428d9fcf460a6f',
  )
  const returned = (order: string, signature: string) =>
    isSignedReturn(
      'rzp_test_secret',
      order,
      new Map([
        ['razorpay_payment_id', 'pay_PARLEY000000001'],
        ['razorpay_order_id', 'order_of_the_sender'],
        ['razorpay_signature', signature],
      ]),
    )
  const valid = '1a88b085af744fdafe4ccc5a103b18fa999b1f1075bfeeaf29d7030d5373719c'
  t.equal(returned('order_PARLEY00000001', valid), true)
  t.equal(returned('order_PARLEY00000002', valid), false, 'the order is ours, not that of the sender')
  t.equal(returned('order_PARLEY00000001', valid.toUpperCase()), false)
  t.equal(isSignedReturn('rzp_test_secret', 'order_PARLEY00000001', new Map()), false)
})

t.test('what an event is about', async (t) => {
  const read = (event: string, payload: unknown) =>
    readRazorpayNotice(Buffer.from(JSON.stringify({ event, payload })))
  const payment = { entity: { id: 'pay_1', order_id: 'order_1', notes: null } }
  t.same(read('payment.captured', { payment }), {
    type: 'payment.captured',
    orderRef: 'order_1',
    disputeId: null,
  })
  t.same(
    read('payment_link.paid', { payment_link: { entity: {} }, order: { entity: { id: '1' } }, payment }),
    { type: 'payment_link.paid', orderRef: 'order_1', disputeId: null },
    'an order without its prefix',
  )
  t.same(read('payment.dispute.lost', { payment, dispute: { entity: { id: 'disp_1' } } }), {
    type: 'payment.dispute.lost',
    orderRef: 'order_1',
    disputeId: 'disp_1',
  })
  t.same(read('settlement.processed', { settlement: { entity: { id: 'setl_1' } } }), {
    type: 'settlement.processed',
    orderRef: null,
    disputeId: null,
  })
  t.equal(read('payment.captured', { payment: { entity: 5 } }), null)
  const odd = { entity: { ...payment.entity, order_id: 'order_\0' } }
  t.match(read('payment.captured', { payment: odd }), { orderRef: 'order_\ufffd' }, 'no database refuses it')
  for (const body of ['', '{', '[]', 'null', '{"event":1}'])
    t.equal(readRazorpayNotice(Buffer.from(body)), null)
})
