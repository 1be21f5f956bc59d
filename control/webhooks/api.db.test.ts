import t from 'tap'
import type { ApiAnswer } from '../../fixtures/api/api.js'
import { dataOf, itemsOf } from '../../fixtures/api/calling.js'
import { recordEvent } from '../../fixtures/api/recorded-events.js'
import { acceptedSignatures, openReceiver, openWebhookRig } from '../../fixtures/api/webhooks.js'
import { onEachDialect } from '../../fixtures/database/databases.js'
import { newId } from '../../media/base/ids.js'
import { createKey } from '../access/keys/api-keys.js'

const WEBHOOKS = '/v1/integrations/webhooks'
const DAY = 86_400_000

const errorOf = (answer: ApiAnswer) =>
  (answer.body as { error: { code: string; details?: Record<string, unknown> } }).error

await onEachDialect(t, async (t, open) => {
  const database = await open()
  const rig = await openWebhookRig(database)
  const receiver = await openReceiver()
  const { api, clock, send } = rig
  const asTest = (method: string, path: string, json?: unknown) =>
    api.send(method, path, json === undefined ? {} : { json })

  /** Another organization's live admin key. */
  async function stranger(): Promise<{ organizationId: string; key: string }> {
    const { db } = database
    const now = clock.wall()
    const organizationId = newId('org', now)
    await db
      .insertInto('organizations')
      .values({ id: organizationId, name: 'Other', senderClassification: null, createdAt: now })
      .execute()
    const { id: userId } = await db.selectFrom('users').select('id').executeTakeFirstOrThrow()
    await db.insertInto('members').values({ organizationId, userId, role: 'owner', createdAt: now }).execute()
    const { key } = await createKey(db, rig.rootKey, clock, {
      organizationId,
      createdBy: userId,
      environment: 'live',
      name: 'Key',
      scopes: ['admin'],
      expiresAt: null,
    })
    return { organizationId, key }
  }

  await t.test('create, read, list, change, delete', async (t) => {
    const body = {
      url: receiver.url,
      events: ['call.completed', 'call.failed', 'call.completed'],
      description: 'Desk',
    }
    const made = await send('POST', WEBHOOKS, { json: body })
    t.equal(made.status, 201)
    const { secret, ...endpoint } = dataOf(made)
    t.match(secret, /^whsec_[A-Za-z0-9_-]{43}$/)
    const path = `${WEBHOOKS}/${endpoint.id}`
    t.strictSame(endpoint, {
      id: endpoint.id,
      url: receiver.url,
      description: 'Desk',
      events: ['call.completed', 'call.failed'],
      enabled: true,
      consecutiveFailures: 0,
      disabledReason: null,
      createdAt: new Date(clock.wall()).toISOString(),
    })
    t.strictSame(dataOf(await send('GET', path)), endpoint, 'never shows the secret again')
    t.strictSame(itemsOf(await asTest('GET', WEBHOOKS)), [endpoint], 'a test key may list')
    t.strictSame(dataOf(await asTest('GET', path)), endpoint)
    t.strictSame(dataOf(await send('GET', `${path}/secret`)), { secret })
    const row = await database.db.selectFrom('webhookEndpoints').selectAll().executeTakeFirstOrThrow()
    t.notOk(JSON.stringify(row).includes(String(secret)), 'encrypted at rest')

    const moved = await send('PATCH', path, { json: { url: 'HTTP://127.0.0.1:80' } })
    t.equal(dataOf(moved).url, 'http://127.0.0.1/', 'a URL as it is sent')
    await send('PATCH', path, { json: { url: receiver.url } })
    const changed = await send('PATCH', path, { json: { description: null, events: ['call.answered'] } })
    t.strictSame(dataOf(changed), { ...endpoint, description: null, events: ['call.answered'] })
    t.equal((await send('DELETE', path)).status, 204)
    for (const [method, sub] of [
      ['GET', ''],
      ['PATCH', ''],
      ['DELETE', ''],
      ['GET', '/secret'],
      ['POST', '/roll-secret'],
      ['POST', '/test'],
    ] as const) {
      const json = method === 'PATCH' ? { json: { enabled: true } } : {}
      t.equal((await send(method, `${path}${sub}`, json)).status, 404, `${method} ${sub}`)
    }
    t.strictSame(itemsOf(await send('GET', WEBHOOKS)), [])
  })

  await t.test('rejected requests', async (t) => {
    const valid = { url: receiver.url, events: ['call.completed'] }
    for (const [body, path] of [
      [{ ...valid, events: [] }, 'events'],
      [{ ...valid, events: ['*'] }, 'events[0]'],
      [{ ...valid, events: ['call.completed', 'call.exploded'] }, 'events[1]'],
      [{ ...valid, url: 'ftp://example.com/' }, 'url'],
      [{ ...valid, url: 'https://user:pass@example.com/' }, 'url'],
      [{ ...valid, url: `https://example.com/${'a'.repeat(2048)}` }, 'url'],
      [{ ...valid, url: 'https:example.com' }, 'url'],
      [{ ...valid, url: 'https://example.com/\r\nx: y' }, 'url'],
      [{ ...valid, url: null }, 'url'],
      [{ ...valid, description: 'x'.repeat(201) }, 'description'],
      [{ ...valid, secret: 'mine' }, 'secret'],
      [{ events: valid.events }, 'url'],
    ] as const) {
      const answer = await send('POST', WEBHOOKS, { json: body })
      t.equal(answer.status, 400, JSON.stringify(body).slice(0, 80))
      t.match(errorOf(answer), { code: 'validation_error', details: { issues: [{ path }] } })
    }
    const { id } = await rig.endpoint(receiver.url)
    const path = `${WEBHOOKS}/${id}`
    for (const json of [{}, { url: null }, { enabled: null }, { events: [] }, { url: 'gopher://x' }]) {
      t.equal((await send('PATCH', path, { json })).status, 400, JSON.stringify(json))
    }
    t.equal((await send('GET', `${WEBHOOKS}/whe_nonsense`)).status, 404)
    const other = await stranger()
    for (const [method, sub] of [
      ['GET', ''],
      ['DELETE', ''],
      ['GET', '/secret'],
      ['POST', '/roll-secret'],
      ['POST', '/test'],
    ] as const) {
      t.equal((await send(method, `${path}${sub}`, { key: other.key })).status, 404, `${method} ${sub}`)
    }
    t.equal((await send('PATCH', path, { key: other.key, json: { enabled: false } })).status, 404)
    t.strictSame(itemsOf(await send('GET', WEBHOOKS, { key: other.key })), [])
    for (const [method, sub, json] of [
      ['POST', '', valid],
      ['PATCH', `/${id}`, { enabled: false }],
      ['DELETE', `/${id}`, undefined],
      ['GET', `/${id}/secret`, undefined],
      ['POST', `/${id}/roll-secret`, undefined],
      ['POST', `/${id}/test`, undefined],
      ['GET', '/signing-secret', undefined],
    ] as const) {
      const answer = await asTest(method, `${WEBHOOKS}${sub}`, json)
      t.equal(answer.status, 403, `a test key: ${method} ${sub}`)
      t.equal(errorOf(answer).code, 'forbidden')
    }
    const signing = await send('GET', `${WEBHOOKS}/signing-secret`)
    t.equal(signing.status, 404)
    await send('DELETE', path)
  })

  await t.test('at most 20 endpoints, also when created concurrently', async (t) => {
    const json = { url: receiver.url, events: ['call.completed'] }
    const answers = await Promise.all(Array.from({ length: 24 }, () => send('POST', WEBHOOKS, { json })))
    t.equal(answers.filter(({ status }) => status === 201).length, 20)
    const refused = answers.filter(({ status }) => status !== 201)
    for (const answer of refused) {
      t.equal(answer.status, 409)
      t.match(errorOf(answer), { code: 'conflict', details: { limit: 20 } })
    }
    // Pages neither lose nor repeat.
    const seen: unknown[] = []
    let cursor = ''
    for (;;) {
      const answer = await send('GET', `${WEBHOOKS}?limit=7${cursor}`)
      seen.push(...itemsOf(answer).map(({ id }) => id))
      const { pagination } = (answer.body as { meta: { pagination: { cursor: string | null } } }).meta
      if (pagination.cursor === null) break
      cursor = `&cursor=${pagination.cursor}`
    }
    t.equal(new Set(seen).size, 20)
    t.equal(seen.length, 20)
    for (const id of seen) await send('DELETE', `${WEBHOOKS}/${id}`)
  })

  await t.test('rolling a secret', async (t) => {
    const { id, secret } = await rig.endpoint(receiver.url)
    const roll = () => send('POST', `${WEBHOOKS}/${id}/roll-secret`)
    const rolled = dataOf(await roll())
    const previousValidUntil = new Date(clock.wall() + DAY).toISOString()
    t.match(rolled, { secret: /^whsec_/, previousValidUntil })
    t.not(rolled.secret, secret)
    t.strictSame(dataOf(await send('GET', `${WEBHOOKS}/${id}/secret`)), { secret: rolled.secret })
    const second = await roll()
    t.equal(second.status, 409)
    t.match(errorOf(second), { code: 'conflict', details: { previousValidUntil } })
    clock.advance(DAY)
    const again = await Promise.all([roll(), roll()])
    t.strictSame(again.map(({ status }) => status).toSorted(), [200, 409], 'of two at once one rolls')
    await send('DELETE', `${WEBHOOKS}/${id}`)
  })

  await t.test('test sends one signed event now, which does not count', async (t) => {
    const { id, secret } = await rig.endpoint(receiver.url)
    receiver.received.length = 0
    const ok = await send('POST', `${WEBHOOKS}/${id}/test`)
    t.equal(ok.status, 200)
    t.match(dataOf(ok), { ok: true, status: 200, durationMs: Number, error: null })
    const [got] = receiver.received
    if (got === undefined) throw new Error('nothing came')
    t.equal(acceptedSignatures(got, secret), 1)
    t.match(got.headers, { 'x-svc-event': 'webhook.test', 'x-svc-delivery-attempt': '1' })
    t.match(JSON.parse(got.body), { type: 'webhook.test', id: got.headers['x-svc-event-id'] })
    receiver.answer = (response) => response.writeHead(503).end()
    t.match(dataOf(await send('POST', `${WEBHOOKS}/${id}/test`)), { ok: false, status: 503, error: 'status' })
    receiver.answer = (response) => response.end()
    t.match(dataOf(await send('GET', `${WEBHOOKS}/${id}`)), { consecutiveFailures: 0 })
    t.strictSame(itemsOf(await send('GET', `${WEBHOOKS}/deliveries`)), [])
    await send('DELETE', `${WEBHOOKS}/${id}`)
  })

  await t.test('delivery log, event log and redelivery', async (t) => {
    clock.advance(1_000)
    const first = await rig.endpoint(`${receiver.url}/1`)
    clock.advance(1)
    const second = await rig.endpoint(`${receiver.url}/2`)
    receiver.received.length = 0
    const eventId = await rig.recordEvent()
    clock.advance(1)
    const silent = await rig.recordEvent({ type: 'number.renewal_due' })
    clock.advance(1)
    const live = await rig.recordEvent({ environment: 'live' })
    await rig.runner.idle()

    const log = await asTest('GET', `${WEBHOOKS}/deliveries`)
    t.match(log.body, { meta: { pagination: { total: 2, hasMore: false } } })
    const deliveries = itemsOf(log)
    t.strictSame(deliveries.map(({ endpointId }) => endpointId).toSorted(), [first.id, second.id])
    for (const delivery of deliveries) {
      t.match(delivery, {
        eventId,
        type: 'compliance.check.blocked',
        environment: 'test',
        status: 'delivered',
        attempts: 1,
        lastStatus: 200,
        lastError: null,
        nextAttemptAt: null,
      })
      t.notOk('body' in delivery)
      t.strictSame(dataOf(await asTest('GET', `${WEBHOOKS}/deliveries/${delivery.id}`)), delivery)
      t.equal((await send('GET', `${WEBHOOKS}/deliveries/${delivery.id}`)).status, 404, 'other environment')
    }

    const lines = async (path: string) =>
      itemsOf(await asTest('GET', path)).map(({ id, delivery }) => [
        id,
        (delivery as { endpointId: string } | null)?.endpointId ?? null,
      ])
    const all = [
      [silent, null],
      [eventId, second.id],
      [eventId, first.id],
    ]
    t.strictSame(await lines('/v1/events'), all, 'one line per event and endpoint, newest first')
    t.strictSame(await lines('/v1/events?type=number.renewal_due'), [[silent, null]])
    const paged: unknown[] = []
    let cursor = ''
    for (;;) {
      const answer = await asTest('GET', `/v1/events?limit=1${cursor}`)
      paged.push(
        ...itemsOf(answer).map(({ id, delivery }) => [
          id,
          (delivery as { endpointId: string })?.endpointId ?? null,
        ]),
      )
      const { pagination } = (answer.body as { meta: { pagination: { cursor: string | null } } }).meta
      if (pagination.cursor === null) break
      cursor = `&cursor=${pagination.cursor}`
    }
    t.strictSame(paged, all, 'a page may end between two lines of one event')
    t.strictSame(await lines('/v1/events?limit=100'), all)
    t.equal((await asTest('GET', `/v1/events/${live}`)).status, 404)

    const [delivery] = deliveries
    const endpointId = String(delivery?.endpointId)
    clock.advance(1_000)
    await database.db.updateTable('checks').set({ message: 'since changed' }).execute()
    receiver.received.length = 0
    const again = await asTest('POST', `${WEBHOOKS}/deliveries/${delivery?.id}/redeliver`)
    t.equal(again.status, 202)
    t.match(dataOf(again), { eventId, endpointId, status: 'pending', attempts: 0 })
    t.not(dataOf(again).id, delivery?.id)
    await rig.runner.idle()
    t.equal(receiver.received.length, 1)
    t.match(receiver.received[0]?.headers, { 'x-svc-event-id': eventId, 'x-svc-delivery-attempt': '1' })
    t.match(receiver.received[0]?.body, /since changed/, 'rendered anew')
    t.strictSame(await lines('/v1/events'), all, 'still one line per endpoint')
    t.match(dataOf(await asTest('GET', `/v1/events/${eventId}`)), {
      delivery: { endpointId, status: 'delivered' },
      payload: { id: eventId, data: { check: { message: 'since changed' } } },
    })

    const everywhere = await asTest('POST', `/v1/events/${eventId}/redeliver`)
    t.equal(everywhere.status, 202)
    t.equal((dataOf(everywhere).deliveries as unknown[]).length, 2)
    const one = await asTest('POST', `/v1/events/${silent}/redeliver`, { endpointId: first.id })
    t.equal((dataOf(one).deliveries as unknown[]).length, 1, 'a named endpoint gets any type')
    const unwanted = await asTest(
      'POST',
      `/v1/events/${await rig.recordEvent({ type: 'number.released' })}/redeliver`,
      {},
    )
    t.equal(unwanted.status, 409)
    const together = await Promise.all(
      Array.from({ length: 5 }, () => asTest('POST', `/v1/events/${eventId}/redeliver`, {})),
    )
    t.strictSame(
      together.map(({ status }) => status),
      [202, 202, 202, 202, 202],
    )
    await rig.runner.idle()

    const other = await stranger()
    t.equal((await send('POST', `/v1/events/${live}/redeliver`, { key: other.key })).status, 404)
    const foreign = await recordEvent(database, other.organizationId, clock.wall(), { environment: 'live' })
    t.equal((await send('POST', `/v1/events/${foreign}/redeliver`)).status, 404)
    t.equal((await asTest('POST', `/v1/events/${eventId}/redeliver`, { endpointId: 'whe_x' })).status, 404)
    t.equal((await asTest('POST', `${WEBHOOKS}/deliveries/${newId('whd', 1)}/redeliver`)).status, 404)
    await send('PATCH', `${WEBHOOKS}/${first.id}`, { json: { enabled: false } })
    const off = await asTest('POST', `/v1/events/${eventId}/redeliver`, { endpointId: first.id })
    t.equal(off.status, 409)

    clock.advance(30 * DAY - 2_000)
    t.equal((await asTest('GET', `/v1/events/${eventId}`)).status, 200)
    clock.advance(2_000)
    t.equal((await asTest('GET', `/v1/events/${eventId}`)).status, 404, 'older than 30 days')
    t.equal((await asTest('POST', `/v1/events/${eventId}/redeliver`, {})).status, 404)
  })

  await rig.close()
  await receiver.close()
})
