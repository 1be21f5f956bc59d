import t from 'tap'
import { sign, signatureHeader, webhookHeaders } from './signature.js'

/** The test vector of the decisions. */
const VECTOR = 'v1=35495024f4ef3f94e5a93e22221544c4b75e9a42300cd965ab81cb85cd994e91'

t.test('the published test vector is reproduced exactly', async (t) => {
  t.equal(sign('{}', 'whsec_test', 1700000000), VECTOR)
})

t.test('every active secret signs, the current one first', async (t) => {
  t.equal(signatureHeader('{}', ['whsec_test'], 1700000000), VECTOR)
  t.equal(
    signatureHeader('{}', ['whsec_new', 'whsec_test'], 1700000000),
    `${sign('{}', 'whsec_new', 1700000000)} ${VECTOR}`,
  )
})

t.test('time, body and secret all affect the signature', async (t) => {
  for (const other of [
    sign('{} ', 'whsec_test', 1700000000),
    sign('{}', 'whsec_tesT', 1700000000),
    sign('{}', 'test', 1700000000),
    sign('{}', 'whsec_test', 1700000001),
  ]) {
    t.match(other, /^v1=[0-9a-f]{64}$/)
    t.not(other, VECTOR)
  }
})

t.test('the headers of an attempt', async (t) => {
  const stamp = { type: 'call.answered', eventId: 'evt_1', attempt: 3, at: 1700000000 }
  t.strictSame(webhookHeaders('{"name":"आशा"}', ['whsec_test'], stamp), {
    'content-type': 'application/json',
    'content-length': '20',
    'user-agent': 'Parley-Webhooks/1',
    'x-svc-timestamp': '1700000000',
    'x-svc-signature': sign('{"name":"आशा"}', 'whsec_test', 1700000000),
    'x-svc-event': 'call.answered',
    'x-svc-event-id': 'evt_1',
    'x-svc-delivery-attempt': '3',
  })
})
