import t from 'tap'
import { isEvent, signWebhook, verifyWebhook, WebhookSignatureError } from './webhooks.js'

const SECRET = 'whsec_test'
const TIMESTAMP = '1700000000'
const SIGNATURE = 'v1=35495024f4ef3f94e5a93e22221544c4b75e9a42300cd965ab81cb85cd994e91'
const now = () => 1_700_000_000_000

t.test('the published test vector', (t) => {
  t.equal(signWebhook(SECRET, TIMESTAMP, '{}'), SIGNATURE)
  t.same(verifyWebhook(SECRET, { body: '{}', timestamp: TIMESTAMP, signature: SIGNATURE }, { now }), {})
  const bytes = new TextEncoder().encode('{}')
  t.same(verifyWebhook(SECRET, { body: bytes, timestamp: TIMESTAMP, signature: SIGNATURE }, { now }), {})
  t.end()
})

t.test('a secret that is being rolled, on either side', (t) => {
  const body = JSON.stringify({ id: 'evt_1', type: 'call.completed', data: { call: { id: 'call_1' } } })
  const both = `${signWebhook('whsec_old', TIMESTAMP, body)} ${signWebhook('whsec_new', TIMESTAMP, body)}`
  for (const secrets of ['whsec_old', 'whsec_new', ['whsec_other', 'whsec_new']]) {
    const event = verifyWebhook(secrets, { body, timestamp: TIMESTAMP, signature: both }, { now })
    t.ok(isEvent(event, 'call.completed') && event.data.call.id === 'call_1')
    t.notOk(isEvent(event, 'call.failed'))
  }
  t.end()
})

t.test('anything else is not believed', (t) => {
  const good = { body: '{}', timestamp: TIMESTAMP, signature: SIGNATURE }
  for (const [what, delivery] of Object.entries({
    'another body': { ...good, body: '{ }' },
    'another timestamp': { ...good, timestamp: '1700000001' },
    'no timestamp': { ...good, timestamp: undefined },
    'a timestamp that is none': { ...good, timestamp: '0x10' },
    'no signature': { ...good, signature: null },
    'a short signature': { ...good, signature: 'v1=00' },
    'another scheme': { ...good, signature: SIGNATURE.replace('v1=', 'v2=') },
    'an empty signature': { ...good, signature: '' },
  })) {
    t.throws(() => verifyWebhook(SECRET, delivery, { now }), WebhookSignatureError, what)
  }
  t.throws(() => verifyWebhook('whsec_other', good, { now }), WebhookSignatureError)
  t.throws(() => verifyWebhook([], good, { now }), WebhookSignatureError)
  for (const seconds of [-301, 301]) {
    const later = () => now() + seconds * 1000
    t.throws(() => verifyWebhook(SECRET, good, { now: later }), WebhookSignatureError, `${seconds} s`)
    t.same(verifyWebhook(SECRET, good, { now: later, toleranceSeconds: 400 }), {})
  }
  t.end()
})
