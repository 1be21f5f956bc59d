import t from 'tap'
import { openReceiver, openWebhookRig, type WebhookRig } from '../../fixtures/api/webhooks.js'
import { onEachDialect } from '../../fixtures/database/databases.js'
import { currentSecret } from './endpoint-store.js'

const MINUTE = 60_000
const HOUR = 60 * MINUTE

await onEachDialect(t, async (t, open) => {
  const rig = await openWebhookRig(await open())
  const receiver = await openReceiver()
  const path = (id: string) => `/v1/integrations/webhooks/${id}`
  const endpointOf = async (id: string) =>
    ((await rig.send('GET', path(id))).body as { data: Record<string, unknown> }).data
  const later = async (ms: number, on: WebhookRig = rig) => {
    on.clock.advance(ms)
    await on.runner.idle()
  }
  const pending = async () => {
    const rows = await rig.database.db
      .selectFrom('webhookDeliveries')
      .select(['nextAttemptAt', 'status', 'lastError'])
      .where('latest', '=', 1)
      .orderBy('id')
      .execute()
    return rows
  }

  await t.test(
    '20 consecutive failures disable an endpoint, notify the admins, and park pending deliveries',
    async (t) => {
      const { id } = await rig.endpoint(receiver.url)
      receiver.answer = (response) => response.writeHead(500).end()
      for (let i = 0; i < 3; i++) await rig.recordEvent()
      // Three deliveries at 0, 1, 3, 7, 15 and 31 minutes are 18 failures.
      for (const minutes of [0, 1, 2, 4, 8, 16]) await later(minutes * MINUTE)
      t.match(await endpointOf(id), { enabled: true, consecutiveFailures: 18, disabledReason: null })
      await later(32 * MINUTE)
      // The attempts under way when it was switched off still end.
      t.match(await endpointOf(id), { enabled: false, disabledReason: 'consecutive_failures' })
      t.ok(Number((await endpointOf(id)).consecutiveFailures) >= 20)
      t.strictSame(rig.notices, [id])
      const mails = await rig.database.db.selectFrom('mails').select(['kind', 'fields']).execute()
      t.match(
        mails,
        [{ kind: 'notice', fields: new RegExp(`was disabled.*${id}`) }],
        'owners and admins are told',
      )
      const requests = receiver.received.length
      t.strictSame(
        await pending(),
        Array.from({ length: 3 }, () => ({ nextAttemptAt: null, status: 'pending', lastError: 'status' })),
      )
      await rig.recordEvent()
      await later(5 * HOUR)
      t.equal(receiver.received.length, requests, 'nothing is sent, and nothing new is written for it')
      t.equal((await pending()).length, 3)

      receiver.answer = (response) => response.end()
      const enabled = await rig.send('PATCH', path(id), { json: { enabled: true } })
      t.match(enabled.body, { data: { enabled: true, consecutiveFailures: 0, disabledReason: null } })
      await rig.runner.idle()
      t.equal(receiver.received.length, requests + 3)
      t.ok((await pending()).every(({ status }) => status === 'delivered'))
      await rig.send('DELETE', path(id))
    },
  )

  await t.test('one burst of failures does not; the first success resets the count', async (t) => {
    const { id } = await rig.endpoint(receiver.url)
    receiver.answer = (response) => response.writeHead(404).end()
    for (let i = 0; i < 30; i++) await rig.recordEvent()
    await later(0)
    t.match(await endpointOf(id), { enabled: true, consecutiveFailures: 30 })
    receiver.answer = (response) => response.end()
    await rig.recordEvent()
    await later(1_000)
    t.match(await endpointOf(id), { enabled: true, consecutiveFailures: 0 })
    receiver.answer = (response) => response.writeHead(404).end()
    for (let i = 0; i < 30; i++) await rig.recordEvent()
    await later(59_000)
    t.match(await endpointOf(id), { enabled: true, consecutiveFailures: 30 })
    await rig.recordEvent()
    await later(60_000)
    t.match(await endpointOf(id), { enabled: false, consecutiveFailures: 31 })
    await rig.send('DELETE', path(id))
  })

  await t.test('disabled by a user for a day: pending deliveries fail visibly', async (t) => {
    const { id } = await rig.endpoint(receiver.url)
    const requests = receiver.received.length
    const eventId = await rig.recordEvent()
    await rig.send('PATCH', path(id), { json: { enabled: false } })
    t.match(await endpointOf(id), { enabled: false, disabledReason: null })
    await later(0)
    t.match(await rig.delivery(eventId), { status: 'pending', nextAttemptAt: null, attempts: 0 })
    await later(24 * HOUR - 1)
    t.match(await rig.delivery(eventId), { status: 'pending' })
    await later(1)
    t.match(await rig.delivery(eventId), {
      status: 'failed',
      lastError: 'endpoint_disabled',
      nextAttemptAt: null,
    })
    t.equal(receiver.received.length, requests)
    await rig.send('DELETE', path(id))
  })

  await t.test('deleted: pending deliveries fail at once and are never sent', async (t) => {
    const { id } = await rig.endpoint(receiver.url)
    const requests = receiver.received.length
    const eventId = await rig.recordEvent()
    t.equal((await rig.send('DELETE', path(id))).status, 204)
    await later(0)
    t.match(await rig.delivery(eventId), { status: 'failed', lastError: 'endpoint_deleted' })
    t.equal(receiver.received.length, requests)
    const row = await rig.database.db
      .selectFrom('webhookEndpoints')
      .selectAll()
      .where('id', '=', id)
      .executeTakeFirstOrThrow()
    t.equal(currentSecret(rig.rootKey, row), '', 'its secret is gone')
  })

  await t.test('an attempt without a recorded response counts; after 14 the delivery ends', async (t) => {
    const { id } = await rig.endpoint(receiver.url)
    receiver.answer = (response) => response.end()
    const eventId = await rig.recordEvent()
    const { db } = rig.database
    await db.updateTable('webhookDeliveries').set({ attempts: 14 }).where('eventId', '=', eventId).execute()
    await later(0)
    t.match(await rig.delivery(eventId), { status: 'failed', lastError: 'interrupted', attempts: 14 })
    await rig.send('DELETE', path(id))
  })

  await t.test('the subject of an event is deleted before its first attempt', async (t) => {
    const { id } = await rig.endpoint(receiver.url)
    const eventId = await rig.recordEvent()
    await rig.database.db.deleteFrom('events').where('id', '=', eventId).execute()
    await later(0)
    t.match(await rig.delivery(eventId), { status: 'failed', lastError: 'subject_gone', attempts: 0 })
    await rig.send('DELETE', path(id))
  })

  await rig.close()
  await receiver.close()
})

t.test('a name that becomes private after it was saved is never connected to', async (t) => {
  await onEachDialect(t, async (t, open) => {
    let address = '93.184.215.14'
    const rig = await openWebhookRig(await open(), {
      allowPrivate: false,
      resolve: async () => [{ address, family: 4 }],
    })
    const receiver = await openReceiver()
    const { id } = await rig.endpoint(`https://hooks.example.com:${receiver.port}/in`)
    address = '127.0.0.1'
    const eventId = await rig.recordEvent()
    await rig.runner.idle()
    t.match(await rig.delivery(eventId), {
      status: 'pending',
      lastError: 'address_refused',
      lastStatus: null,
      attempts: 1,
      nextAttemptAt: rig.clock.wall() + MINUTE,
    })
    const tested = await rig.send('POST', `/v1/integrations/webhooks/${id}/test`)
    t.match(tested.body, { data: { ok: false, status: null, error: 'address_refused' } })
    t.equal(receiver.connections, 0)
    await rig.close()
    await receiver.close()
  })
})
