import t from 'tap'
import { dataOf, itemsOf, openTestCalling } from '../../fixtures/api/calling.js'
import { onEachDialect } from '../../fixtures/database/databases.js'

const PERSON = '+919876543210'
const DAY_MS = 86_400_000
const errorOf = (answer: { body: unknown }) =>
  (answer.body as { error: { code: string; details: Record<string, unknown> } }).error

await onEachDialect(t, async (t, open) => {
  const start = async () => {
    const calling = await openTestCalling(await open())
    const { send, api, numberId } = calling
    await calling.publishAgent()
    const as = (key: string) => (method: string, path: string, json?: unknown) =>
      send(method, path, { key, ...(json === undefined ? {} : { json }) })
    const test = as(api.testKey)
    const call = async () => errorOf(await test('POST', '/v1/calls', { to: PERSON, numberId })) ?? 'placed'
    return { calling, test, live: as(api.liveKey), call }
  }

  await t.test('an entry blocks calls of both environments and is read in its own only', async (t) => {
    const { calling, test, live, call } = await start()
    t.equal(await call(), 'placed')
    const made = await live('POST', '/v1/dnc', { e164: PERSON, reason: 'Asked by e-mail' })
    t.equal(made.status, 201)
    t.match(dataOf(made), {
      id: /^dnc_/,
      e164: PERSON,
      source: 'manual',
      environment: 'live',
      active: true,
      lockedUntil: null,
      expiresAt: null,
      createdBy: { type: 'key' },
    })
    const blocked = await call()
    t.match(blocked, { code: 'blocked_dnd', details: { checkType: 'dnc', nextAllowedAt: null } })
    const row = await calling.deps.db
      .selectFrom('checks')
      .selectAll()
      .where('outcome', '=', 'block')
      .executeTakeFirstOrThrow()
    t.match(row, { type: 'dnc', reason: 'suppressed', source: /TCCCPR/ })
    t.same(JSON.parse(row.details), { entries: [], sources: ['manual'] }, 'a test key learns no live id')
    const path = `/v1/dnc/${dataOf(made).id}`
    t.equal((await test('GET', path)).status, 404)
    t.equal((await test('DELETE', path)).status, 404)
    t.same(itemsOf(await test('GET', '/v1/dnc')), [])
    const again = await live('POST', '/v1/dnc', { e164: PERSON, reason: 'Asked again' })
    t.equal(again.status, 200)
    t.same(dataOf(again), dataOf(made), 'listed once, as it was')
    const complaint = await live('POST', '/v1/dnc', { e164: PERSON, source: 'complaint' })
    t.equal(complaint.status, 201, 'of another source')
    t.equal((await live('DELETE', `/v1/dnc/${dataOf(complaint).id}`)).status, 204)

    t.equal((await live('DELETE', path)).status, 204)
    t.equal((await live('DELETE', path)).status, 404)
    t.match(dataOf(await live('GET', path)), { active: false, removedBy: { type: 'key' } })
    t.equal(await call(), 'placed')
    const other = await calling.anotherOrganization()
    await live('POST', '/v1/dnc', { e164: PERSON })
    t.same(itemsOf(await calling.send('GET', '/v1/dnc', { key: other.liveKey })), [])
    await calling.close()
  })

  await t.test('an opt-out lasts 90 days, locks and revokes consent, and begins anew', async (t) => {
    const { calling, test, live, call } = await start()
    const consent = { e164: PERSON, purpose: 'promotional', kind: 'explicit', scope: 'Offers', source: 'web' }
    const given = dataOf(await live('POST', '/v1/consent', consent))
    const made = dataOf(await live('POST', '/v1/dnc', { e164: PERSON, source: 'opt_out' }))
    const until = new Date(calling.clock.wall() + 90 * DAY_MS).toISOString()
    t.match(made, { lockedUntil: until, expiresAt: until })
    t.match(dataOf(await live('GET', `/v1/consent/${given.id}`)), {
      active: false,
      revokedReason: 'opt_out',
    })
    for (const send of [live, test]) {
      const refused = await send('POST', '/v1/consent', consent)
      t.match(errorOf(refused), { code: 'conflict', details: { lockedUntil: until } })
    }
    t.match(errorOf(await live('DELETE', `/v1/dnc/${made.id}`)), {
      code: 'conflict',
      details: { lockedUntil: until },
    })
    t.match(await call(), { code: 'blocked_dnd', details: { nextAllowedAt: until } })

    calling.clock.advance(90 * DAY_MS - 1)
    t.match(await call(), { code: 'blocked_dnd' })
    calling.clock.advance(1)
    t.equal(await call(), 'placed', 'the opt-out has expired')
    t.match(itemsOf(await live('GET', '/v1/dnc?active=false')), [{ id: made.id, active: false }])
    t.equal((await live('POST', '/v1/consent', consent)).status, 201)
    const again = dataOf(await live('POST', '/v1/dnc', { e164: PERSON, source: 'opt_out' }))
    t.equal(again.expiresAt, new Date(calling.clock.wall() + 90 * DAY_MS).toISOString())
    t.equal(again.active, true)
    await calling.close()
  })

  await t.test(
    'a test opt-out protects live calls but locks consent in test only, and can be removed',
    async (t) => {
      const { calling, test, live } = await start()
      const consent = { e164: PERSON, purpose: 'service', kind: 'explicit', scope: 'Service', source: 'web' }
      const made = dataOf(await test('POST', '/v1/dnc', { e164: PERSON, source: 'opt_out' }))
      t.equal((await test('POST', '/v1/consent', consent)).status, 409)
      t.equal((await live('POST', '/v1/consent', consent)).status, 201)
      t.equal((await test('DELETE', `/v1/dnc/${made.id}`)).status, 204)
      t.equal((await test('POST', '/v1/consent', consent)).status, 201, 'the lockout is over')
      await calling.close()
    },
  )

  await t.test('a bulk import takes the rows that are valid', async (t) => {
    const { calling, test } = await start()
    const entries = [
      { e164: PERSON },
      { e164: '9876543210' },
      { e164: '+919876543211', source: 'regulator', reason: 'Order 7' },
      { e164: '+919876543212', source: 'rumour' },
      { e164: PERSON },
    ]
    const result = dataOf(await test('POST', '/v1/dnc/bulk', { entries }))
    t.match(result, {
      imported: 3,
      rejected: [
        { index: 1, e164: '9876543210', code: 'validation_error', message: /^e164: must be/ },
        { index: 3, e164: '+919876543212', code: 'validation_error', message: /^source/ },
      ],
    })
    t.equal((result.rejected as unknown[]).length, 2)
    const sources = itemsOf(await test('GET', '/v1/dnc')).map(({ source }) => source)
    t.same(sources.sort(), ['import', 'regulator'])
    t.equal(itemsOf(await test('GET', `/v1/dnc?e164=${encodeURIComponent(PERSON)}`)).length, 1)
    t.equal((await test('GET', '/v1/dnc?e164=x')).status, 400)
    const many = Array.from({ length: 1_001 }, () => ({ e164: PERSON }))
    t.equal((await test('POST', '/v1/dnc/bulk', { entries: many })).status, 400)
    await calling.close()
  })
})
