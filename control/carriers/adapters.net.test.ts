import fc from 'fast-check'
import t, { type Test } from 'tap'
import { CARRIER_RIGS } from '../../fixtures/carriers/carrier-rigs.js'
import type { Mishap } from '../../fixtures/carriers/fake-carrier.js'
import { until } from '../../fixtures/host/until.js'
import type { CarrierResult } from './carrier.js'

/* Rules that hold for the adapter of every carrier, tested against a fake with the carrier's own frames. */

const NOW = Date.UTC(2026, 9, 1, 6)
const E164 = '+918047100001'
const ORDER = { e164: E164, reference: 'num_1' }
const ALL = { region: null, numberType: null, contains: null }
const LEG = { sipCallId: 'leg-1', from: E164, to: '+919812345678', startedAt: NOW }

for (const [provider, openRig] of Object.entries(CARRIER_RIGS)) {
  const open = async (t: Test) => {
    const rig = await openRig(() => NOW)
    t.teardown(() => rig.api.close())
    const atPurchase = (mishap: Mishap): void => {
      rig.api.mishap = (request) => (rig.isPurchase(request) ? mishap : null)
    }
    return { ...rig, atPurchase, signal: new AbortController().signal }
  }

  t.test(`${provider}: a number is found, bought, routed and given back`, async (t) => {
    const { carrier, sell, owned, orders, signal } = await open(t)
    sell(E164)
    sell('+918047100002')
    const found = await carrier.search({ ...ALL, contains: '80471' }, signal)
    if (!found.ok) throw new Error(found.reason)
    t.same(found.value.map(({ e164 }) => e164).toSorted(), [E164, '+918047100002'])
    t.match(found.value[0], { provider, region: 'KA', numberType: 'landline', renewalCycle: 'anniversary' })
    t.ok(
      found.value.every(({ rentalPaise }) => rentalPaise >= 45_000 && rentalPaise <= 50_000),
      'paise',
    )
    t.same(await carrier.search({ ...ALL, region: 'TN' }, signal), { ok: true, value: [] })
    t.same(await carrier.findOwned(ORDER, NOW, signal), { ok: true, value: null })
    const bought = await carrier.buy(ORDER, signal)
    if (!bought.ok) throw new Error(bought.reason)
    t.match(await carrier.findOwned(ORDER, NOW, signal), { value: bought.value })
    t.same(await carrier.listOwned(signal), { ok: true, value: [bought.value] })
    t.match(await carrier.quote(E164, signal), { value: null }, 'sold')
    t.same(await carrier.route(bought.value, signal), { ok: true, value: null })
    t.same(await carrier.route(bought.value, signal), { ok: true, value: null }, 'again')
    t.match(await carrier.buy(ORDER, signal), { ok: false, code: 'number_unavailable', unknown: false })
    t.same([owned(), orders()], [1, 2])
    t.same(await carrier.release(bought.value, signal), { ok: true, value: null })
    t.match(await carrier.findOwned(ORDER, NOW, signal), { value: null })
    t.same(await carrier.listOwned(signal), { ok: true, value: [] })
    t.same(await carrier.release(bought.value, signal), { ok: true, value: null }, 'gone already')
  })

  t.test(`${provider}: the list of the account is whole, or no list`, async (t) => {
    const { carrier, sell, signal } = await open(t)
    const many = Array.from({ length: 60 }, (_, n) => `+9180471${String(n).padStart(5, '0')}`)
    for (const e164 of many) {
      sell(e164)
      const bought = await carrier.buy({ e164, reference: e164 }, signal)
      if (!bought.ok) throw new Error(bought.reason)
    }
    const listed = await carrier.listOwned(signal)
    if (listed.ok) t.same(listed.value.map(({ e164 }) => e164).toSorted(), many)
    else t.match(listed, { code: 'provider_unavailable', reason: 'the list of numbers is not complete' })
    // Only Exotel documents no second page.
    t.equal(listed.ok, provider !== 'exotel')
  })

  t.test(`${provider}: a row that cannot be read is no missing number`, async (t) => {
    const { api, carrier, sell, signal } = await open(t)
    sell(E164)
    const bought = await carrier.buy(ORDER, signal)
    if (!bought.ok) throw new Error(bought.reason)
    for (const text of ['08047100001', 'Main line', '']) {
      api.mishap = ({ method }) =>
        method === 'GET'
          ? { kind: 'mangled', change: (answer) => answer.replaceAll(/\+?918047100001/g, text) }
          : null
      const unreadable = { ok: false, code: 'provider_unavailable', unknown: false }
      t.match(await carrier.listOwned(signal), { ...unreadable, unreadable: true }, text)
      t.match(await carrier.findOwned(ORDER, NOW, signal), unreadable, text)
    }
  })

  t.test(`${provider}: errors of a purchase`, async (t) => {
    const { carrier, sell, atPurchase, signal } = await open(t)
    sell(E164)
    const rows: readonly [status: number, body: string, expected: object][] = [
      [500, '{"error":"internal"}', { code: 'provider_unavailable', unknown: true }],
      [503, '<html>', { code: 'provider_unavailable', unknown: true }],
      [429, '{"error":"limit"}', { code: 'provider_quota_exhausted', unknown: false, retryAfterSeconds: 2 }],
      [400, '{"error":"bad number"}', { code: 'provider_rejected', reason: 'bad number', unknown: false }],
      [422, '{"error":"KYC documents are missing"}', { code: 'compliance_incomplete', unknown: false }],
      [401, '{}', { code: 'provider_unavailable', unknown: false }],
      [302, '', { code: 'provider_unavailable', unknown: true }],
      [200, '<html>welcome</html>', { code: 'provider_unavailable', unknown: true }],
      [200, '{"error":"sold out"}', { code: 'provider_unavailable', unknown: true }],
      [200, '', { code: 'provider_unavailable', unknown: true }],
    ]
    for (const [status, body, expected] of rows) {
      atPurchase({ kind: 'answer', status, body, headers: { 'retry-after': '2' } })
      t.match(await carrier.buy(ORDER, signal), { ok: false, ...expected }, `${status} ${body}`)
    }
  })

  t.test(`${provider}: a lost answer leaves the outcome open, and the list tells it`, async (t) => {
    for (const effect of [true, false]) {
      const { carrier, sell, atPurchase, signal } = await open(t)
      sell(E164)
      atPurchase({ kind: 'cut', effect })
      t.match(await carrier.buy(ORDER, signal), { ok: false, code: 'provider_unavailable', unknown: true })
      t.match(await carrier.findOwned(ORDER, NOW, signal), { value: effect ? { e164: E164 } : null })
    }
    const { carrier, sell, atPurchase, orders } = await open(t)
    atPurchase({ kind: 'hang', effect: true })
    sell(E164)
    const abort = new AbortController()
    const buying = carrier.buy(ORDER, abort.signal)
    await until(() => orders() > 0)
    abort.abort()
    t.match(await buying, { ok: false, unknown: true })
  })

  t.test(`${provider}: the record of a leg tells whether it was answered`, async (t) => {
    const { carrier, record, signal } = await open(t)
    const { callRecord } = carrier
    t.same(await callRecord?.(LEG, signal), { ok: true, value: null }, 'not there yet')
    record({ ...LEG, startedAt: NOW - 3_600_000, sipCallId: 'another' })
    t.same(await callRecord?.(LEG, signal), { ok: true, value: null }, 'another call of these numbers')
    record({ ...LEG, startedAt: NOW + 2_000 })
    t.same(await callRecord?.(LEG, signal), { ok: true, value: { answered: true } })
    if (provider === 'vobiz') return
    record({ ...LEG, startedAt: NOW + 5_000 })
    t.same(await callRecord?.(LEG, signal), { ok: true, value: null }, 'two that cannot be told apart')
  })

  t.test(`${provider}: answers with missing, wrong or cut parts mislead nobody`, async (t) => {
    const { api, carrier, sell, record, orders, signal } = await open(t)
    sell(E164)
    const bought = await carrier.buy(ORDER, signal)
    if (!bought.ok) throw new Error(bought.reason)
    record(LEG)
    const other = { e164: '+918047100002', reference: 'num_2' }
    let asked = 0
    /** Runs a question once for each way in which one of its answers may be broken. */
    const broken = async (ask: () => Promise<void>): Promise<void> => {
      for (let at = 0, answers = 1; at < answers; at++) {
        for (let way = 0, ways = 1; way < ways; way++) {
          let seen = 0
          api.mishap = () => {
            if (seen++ !== at) return null
            asked++
            return {
              kind: 'mangled',
              ...(way === 0 ? { status: 200 } : {}),
              change: (answer) => {
                const all = waysToBreak(answer)
                ways = Math.max(ways, all.length)
                return all[way] ?? answer
              },
            }
          }
          await ask()
          api.mishap = () => null
          answers = Math.max(answers, Math.min(seen, 3))
        }
      }
    }
    sell(other.e164)
    await broken(async () => {
      for (const found of [await carrier.search(ALL, signal), await carrier.quote(other.e164, signal)]) {
        const offers = found.ok && found.value !== null ? [found.value].flat() : []
        for (const offer of offers) {
          t.ok(offer.e164 === other.e164 && Number.isInteger(offer.rentalPaise), JSON.stringify(offer))
        }
      }
    })
    await broken(async () => {
      const found = await carrier.findOwned(ORDER, NOW, signal)
      if (found.ok) t.equal(found.value?.e164, E164, 'a number of the account is not missing')
    })
    await broken(async () => {
      const listed = await carrier.listOwned(signal)
      if (listed.ok) t.ok(listed.value.some(({ e164 }) => e164 === E164))
    })
    await broken(async () => {
      const record = await carrier.callRecord?.(LEG, signal)
      if (record?.ok) t.not(record.value?.answered, false, 'an answered leg is not denied')
    })
    await broken(async () => {
      t.type((await carrier.route(bought.value, signal)).ok, 'boolean')
    })
    await broken(async () => {
      sell(other.e164)
      const before = orders()
      const sold = await carrier.buy(other, signal)
      t.equal(orders(), before + 1, 'asked once')
      t.ok(sold.ok ? sold.value.e164 === other.e164 : sold.unknown, 'a sold number is not refused')
      api.mishap = () => null
      const found = await carrier.findOwned(other, NOW, signal)
      if (!found.ok || found.value === null) throw new Error('the number is not in the account')
      const released = await carrier.release(found.value, signal)
      t.ok(released.ok)
    })
    t.ok(asked > 100, `${asked} broken answers`)
  })

  t.test(`${provider}: a routing that the carrier does not show is none`, async (t) => {
    const { api, carrier, sell, signal } = await open(t)
    sell(E164)
    const bought = await carrier.buy(ORDER, signal)
    if (!bought.ok) throw new Error(bought.reason)
    const elsewhere = /9e-trunk|21784177241578|start_voice\/4242/g
    api.mishap = ({ method }) =>
      method === 'GET'
        ? { kind: 'mangled', change: (answer) => answer.replaceAll(elsewhere, 'elsewhere') }
        : null
    t.match(await carrier.route(bought.value, signal), {
      ok: false,
      code: 'provider_unavailable',
      reason: 'the carrier routes the number elsewhere',
    })
  })

  t.test(`${provider}: any answer: no crash, and no purchase without proof`, async (t) => {
    const { api, carrier, signal } = await open(t)
    await fc.assert(
      fc.asyncProperty(ANSWER, async ({ status, body }) => {
        const text = status === 204 ? '' : body
        api.mishap = () => ({ kind: 'answer', status, body: text })
        const number = { e164: E164, carrierNumberId: 'sid' }
        const results: readonly CarrierResult<unknown>[] = await Promise.all([
          carrier.search(ALL, signal),
          carrier.quote(E164, signal),
          carrier.findOwned(ORDER, NOW, signal),
          carrier.listOwned(signal),
          carrier.route(number, signal),
          carrier.release(number, signal),
        ])
        if (!results.every(({ ok }) => typeof ok === 'boolean')) return false
        const record = (await carrier.callRecord?.(LEG, signal)) ?? null
        // A bridge is denied only by a record of this very leg.
        if (record?.ok && record.value?.answered === false && !/leg-1|9812345678/.test(text)) return false
        const bought = await carrier.buy(ORDER, signal)
        // A refusal may be final only if the carrier said so with a 4xx.
        return bought.ok ? text.includes(E164.slice(1)) : bought.unknown || (status >= 400 && status < 500)
      }),
      { numRuns: 60 },
    )
  })
}

t.test('exotel: a number with another name is not bought only if another order gave the name', async (t) => {
  const rig = await CARRIER_RIGS.exotel?.(() => NOW)
  if (rig === undefined) throw new Error('no adapter')
  t.teardown(() => rig.api.close())
  const { api, carrier, sell } = rig
  const { signal } = new AbortController()
  sell(E164)
  await carrier.buy(ORDER, signal)
  const named = async (name: string) => {
    api.mishap = () => ({ kind: 'mangled', change: (answer) => answer.replaceAll('"num_1"', name) })
    return await carrier.findOwned(ORDER, NOW, signal)
  }
  t.match(await named('"num_1"'), { ok: true, value: { e164: E164 } })
  t.same(await named('"num_0"'), { ok: true, value: null })
  for (const name of ['null', '""', '"08047100001"', '"Front desk"'])
    t.match(await named(name), { ok: false, unreadable: true }, name)
})

t.test('vobiz: a list that ignores the search does not prove that a number is missing', async (t) => {
  const rig = await CARRIER_RIGS.vobiz?.(() => NOW)
  if (rig === undefined) throw new Error('no adapter')
  t.teardown(() => rig.api.close())
  const row = (index: number) => ({ e164: `+9180472${String(index).padStart(5, '0')}`, status: 'active' })
  for (const [count, expected] of [
    [100, { ok: false, reason: 'the list of numbers is not complete' }],
    [99, { ok: true, value: null }],
  ] as const) {
    const items = Array.from({ length: count }, (_, index) => row(index))
    rig.api.mishap = () => ({ kind: 'answer', status: 200, body: JSON.stringify({ items }) })
    t.match(await rig.carrier.findOwned(ORDER, NOW, new AbortController().signal), expected)
  }
})

/** Returns a JSON answer with one part missing or of another type, cut short, or replaced. */
function waysToBreak(answer: string): readonly string[] {
  const replaced = [
    ...['', '{}', '[]', 'null', '0', '"ok"', '<html><body>Welcome</body></html>'],
    ...['{"error":"internal","message":"try again"}', '{"status":"failure","error_data":{"code":1}}'],
    ...[0.25, 0.5, 0.9].map((part) => answer.slice(0, Math.floor(answer.length * part))),
  ]
  if (answer === '') return replaced
  const paths = pathsOf(JSON.parse(answer) as unknown)
  return [
    ...replaced,
    ...paths.flatMap((path) =>
      OTHER_TYPES.flatMap((other) => {
        const whole = JSON.parse(answer) as Record<string, unknown>
        const [last = '', ...before] = path.toReversed()
        const parent = before
          .toReversed()
          .reduce<unknown>((at, key) => (at as Record<string, unknown>)[key], whole)
        const holder = parent as Record<string, unknown>
        if (other !== undefined && typeof other === typeof holder[last]) return []
        if (other === undefined && !Array.isArray(holder)) delete holder[last]
        else holder[last] = other
        return [JSON.stringify(whole)]
      }),
    ),
  ]
}

/** `undefined` leaves the part out. */
const OTHER_TYPES = [undefined, -1, 'x'] as const

function pathsOf(value: unknown, path: readonly string[] = []): readonly (readonly string[])[] {
  const here = path.length === 0 ? [] : [path]
  if (typeof value !== 'object' || value === null) return here
  return [...here, ...Object.entries(value).flatMap(([key, part]) => pathsOf(part, [...path, key]))]
}

const word = fc.constantFrom(
  ...[
    'items',
    'number',
    'numbers',
    'objects',
    'data',
    'e164',
    'phone_number',
    'sid',
    'friendly_name',
    'num_1',
  ],
  ...[
    'message',
    'error',
    'status',
    'active',
    'fulfilled',
    'pending',
    'response',
    'error_data',
    'code',
    'success',
  ],
  ...[E164, E164.slice(1), 'purchased_at', 'added_on', 'application', 'INR', 'incoming_phone_numbers'],
  ...[
    'sip_call_id',
    'leg-1',
    'answer_time',
    'billsec',
    'bill_duration',
    'initiation_time',
    '2026-10-01 06:00:00',
  ],
)
const { value } = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    word,
    fc.integer(),
    fc.boolean(),
    fc.constant(null),
    fc.array(tie('value'), { maxLength: 3 }),
    tie('object'),
  ),
  object: fc.dictionary(word, tie('value'), { maxKeys: 5 }),
}))
const ANSWER = fc.record({
  status: fc.constantFrom(200, 201, 202, 204, 301, 400, 404, 409, 422, 429, 500, 502),
  body: fc.oneof(
    value.map((json) => JSON.stringify(json)),
    fc.string(),
    fc.constant('<html><body>Bad gateway</body></html>'),
  ),
})
