import t, { type Test } from 'tap'
import type { Mishap } from '../../fixtures/carriers/fake-carrier.js'
import { type FakeVobiz, openFakeVobiz } from '../../fixtures/carriers/fake-vobiz.js'
import { paiseOf } from './carrier-http.js'
import { vobizCarrier } from './vobiz.js'

const NOW = Date.UTC(2026, 9, 1, 6)
const E164 = '+918047100001'
const ORDER = { e164: E164, reference: 'num_1' }
const ALL = { region: null, numberType: null, contains: null }

async function open(t: Test) {
  const fake = await openFakeVobiz(() => NOW)
  t.teardown(() => fake.api.close())
  const carrier = vobizCarrier({
    url: fake.url,
    authId: 'MA_FAKE01',
    authToken: 'token',
    inboundTrunk: '9e-trunk',
    webhookSecret: null,
  })
  return { fake, carrier, signal: new AbortController().signal }
}

/** Gives the purchase request, and only it, a mishap. */
function atPurchase(fake: FakeVobiz, mishap: Mishap): void {
  fake.api.mishap = ({ method, path }) =>
    method === 'POST' && path.endsWith('purchase-from-inventory') ? mishap : null
}

t.test('prices become paise without floating point', async (t) => {
  const rows: readonly [unknown, number | null][] = [
    [100, 10_000],
    [499.99, 49_999],
    ['499.000000', 49_900],
    ['0.1', 10],
    ['1.001', 101],
    [0, 0],
    [-1, null],
    ['1e3', null],
    [1e21, null],
    [Number.NaN, null],
    ['', null],
    [null, null],
    [{}, null],
  ]
  for (const [price, paise] of rows) t.equal(paiseOf(price), paise, String(price))
})

t.test('offers: pages, and only numbers that may be sold', async (t) => {
  const { fake, carrier, signal } = await open(t)
  for (let index = 0; index < 150; index++) {
    const e164 = `+9180471${String(index).padStart(5, '0')}`
    fake.stock.set(e164, { e164, monthly_fee: 500 + index })
  }
  const unsold: readonly [string, object][] = [
    ['+911401234567', {}],
    ['+919212345678', {}],
    ['+918047199991', { is_blocked: true }],
    ['+918047199992', { is_trial_number: true }],
    ['+918047199993', { aadhaar_verification_required: true }],
    ['+918047199994', { minimum_commitment_months: 3 }],
    ['+918047199995', { currency: 'USD' }],
    ['+918047199996', { setup_fee: null }],
    ['12345', {}],
  ]
  for (const [e164, more] of unsold) fake.stock.set(e164, { e164, monthly_fee: 1, more: { ...more } })
  const found = await carrier.search(ALL, signal)
  if (!found.ok) throw new Error(found.reason)
  t.equal(found.value.length, 150)
  t.match(found.value[0], { region: 'KA', numberType: 'landline', setupPaise: 10_000, rentalPaise: 50_000 })
  t.same(await carrier.search({ ...ALL, region: 'TN' }, signal), { ok: true, value: [] })
  t.match(await carrier.quote('+918047100007', signal), { value: { rentalPaise: 50_700 } })
  t.match(await carrier.quote('+918047199991', signal), { value: null })
})

t.test('a number is bought, found, routed and given back', async (t) => {
  const { fake, carrier, signal } = await open(t)
  fake.stock.set(E164, { e164: E164, monthly_fee: 500 })
  t.same(await carrier.findOwned(ORDER, NOW, signal), { ok: true, value: null })
  t.match(await carrier.buy(ORDER, signal), { ok: true, value: { e164: E164 } })
  t.same(fake.orders, [{ e164: E164, currency: 'INR' }])
  t.match(await carrier.findOwned(ORDER, NOW, signal), { value: { e164: E164 } })
  t.match(
    await carrier.findOwned(ORDER, NOW + 3_600_000, signal),
    { value: null },
    'bought by an earlier order',
  )
  const number = { e164: E164, carrierNumberId: null }
  t.same(await carrier.route(number, signal), { ok: true, value: null })
  t.equal(fake.owned.get(E164)?.trunk_group_id, '9e-trunk')
  t.match(await carrier.buy(ORDER, signal), { ok: false, code: 'number_unavailable', unknown: false })
  t.same(await carrier.release(number, signal), { ok: true, value: null })
  t.match(await carrier.findOwned(ORDER, NOW, signal), { value: null })
  t.same(await carrier.release({ e164: '+918047100009', carrierNumberId: null }, signal), {
    ok: true,
    value: null,
  })
})

t.test('only a number that was given back is absent', async (t) => {
  const { fake, carrier, signal } = await open(t)
  fake.stock.set(E164, { e164: E164, monthly_fee: 500 })
  await carrier.buy(ORDER, signal)
  const row = fake.owned.get(E164)
  if (row === undefined) throw new Error('nothing was bought')
  for (const status of ['pending_purchase', 'blocked', 'a state of tomorrow']) {
    row.status = status
    const undecided = { ok: false, code: 'provider_unavailable', reason: /neither active nor given back/ }
    t.match(await carrier.findOwned(ORDER, NOW, signal), undecided, status)
    t.match(await carrier.listOwned(signal), { ok: true, value: [{ e164: E164 }] }, status)
  }
  for (const status of ['pending_release', 'released']) {
    row.status = status
    t.same(await carrier.findOwned(ORDER, NOW, signal), { ok: true, value: null }, status)
    t.same(await carrier.listOwned(signal), { ok: true, value: [] }, status)
  }
})

t.test('the money of the account', async (t) => {
  const { fake, carrier, signal } = await open(t)
  fake.account.balance = 99.5
  t.same(await carrier.balance?.(signal), { ok: true, value: 9_950 })
  for (const body of ['{}', '{"available_balance":"much"}', '<html>']) {
    fake.api.mishap = () => ({ kind: 'answer', status: 200, body })
    t.match(await carrier.balance?.(signal), { ok: false, code: 'provider_unavailable' }, body)
  }
})

t.test('documented errors of a purchase', async (t) => {
  const { fake, carrier, signal } = await open(t)
  const rows: readonly [status: number, body: string, expected: object, headers?: Record<string, string>][] =
    [
      [
        500,
        '{"error":"internal_server_error","message":"failed to purchase number"}',
        { code: 'provider_unavailable', unknown: true },
      ],
      [503, '<html>', { code: 'provider_unavailable', unknown: true }],
      [
        429,
        '{"error":"limit"}',
        { code: 'provider_quota_exhausted', unknown: false, retryAfterSeconds: 2 },
        { 'retry-after': '2' },
      ],
      [
        400,
        '{"status":"error","error":{"code":"x","message":"bad number"}}',
        { code: 'provider_rejected', reason: 'bad number' },
      ],
      [422, '{"message":"KYC is not approved"}', { code: 'compliance_incomplete' }],
      [401, '{}', { code: 'provider_unavailable', unknown: false }],
      [302, '', { code: 'provider_unavailable', unknown: true }],
      [200, '<html>welcome</html>', { code: 'provider_unavailable', unknown: true }],
      [200, '{"number":{"e164":"+910000000000"}}', { code: 'provider_unavailable', unknown: true }],
      [
        200,
        `{"number":{"e164":"${E164}","status":"pending_purchase"}}`,
        { code: 'provider_unavailable', unknown: true },
      ],
      [200, '{"error":"sold out"}', { code: 'provider_unavailable', unknown: true }],
    ]
  for (const [status, body, expected, headers = {}] of rows) {
    atPurchase(fake, { kind: 'answer', status, body, headers })
    t.match(await carrier.buy(ORDER, signal), { ok: false, ...expected }, `${status} ${body}`)
  }
})
