import t from 'tap'
import { dataOf, itemsOf } from '../../fixtures/api/calling.js'
import { openReceiver, openWebhookRig } from '../../fixtures/api/webhooks.js'
import { onEachDialect } from '../../fixtures/database/databases.js'

const WEBHOOKS = '/v1/integrations/webhooks'
const HOUR = 3_600_000

await onEachDialect(t, async (t, open) => {
  const rig = await openWebhookRig(await open())
  const receiver = await openReceiver()
  const { api, clock } = rig
  const asTest = (method: string, path: string, json?: unknown) =>
    api.send(method, path, json === undefined ? {} : { json })

  await t.test('what a receiver refused is shown, and sent again once', async (t) => {
    const bad = await rig.endpoint(`${receiver.url}/bad`)
    clock.advance(1)
    await rig.endpoint(`${receiver.url}/good`)
    receiver.answer = (response, { path }) => {
      response.writeHead(path.endsWith('/bad') ? 404 : 200).end()
    }
    const old = await rig.recordEvent()
    await rig.runner.idle()
    clock.advance(HOUR)
    const since = new Date(clock.wall()).toISOString()
    const events: string[] = []
    for (let count = 0; count < 3; count++) {
      events.push(await rig.recordEvent())
      clock.advance(1)
    }
    const live = await rig.recordEvent({ environment: 'live' })
    await rig.runner.idle()

    const listed = async (query: string) =>
      itemsOf(await asTest('GET', `${WEBHOOKS}/deliveries?${query}`)).map(({ eventId }) => eventId)
    t.same((await listed(`status=failed&endpointId=${bad.id}&since=${since}`)).toSorted(), events.toSorted())
    t.equal((await listed(`endpointId=${bad.id}`)).length, 4)
    t.same(await listed('status=unheard_of'), [], 'the set of states is open')
    const problems = async () => dataOf(await asTest('GET', '/v1/overview')).problems as object[]
    t.match(
      (await problems()).find((problem) => (problem as { code: string }).code === 'events_lost'),
      { subject: { type: 'endpoint', id: bad.id }, counts: { events: 4 } },
    )

    receiver.answer = (response) => response.end()
    receiver.received.length = 0
    const resend = (json: object, id = String(bad.id)) => asTest('POST', `${WEBHOOKS}/${id}/redeliver`, json)
    const both = await Promise.all([resend({ since }), resend({ since })])
    t.same(
      both.map(({ status }) => status),
      [202, 202],
    )
    t.same(both.map((answer) => Number(dataOf(answer).sent)).toSorted(), [0, 3], 'none is sent twice')
    await rig.runner.idle()
    t.same(
      receiver.received.map(({ headers, path }) => [path.slice(-4), headers['x-svc-event-id']]).toSorted(),
      events.map((id) => ['/bad', id]).toSorted(),
    )
    t.match(
      (await problems()).find((problem) => (problem as { code: string }).code === 'events_lost'),
      { counts: { events: 1 } },
      'the earlier one',
    )
    t.same(dataOf(await resend({ since: new Date(clock.wall() - 2 * HOUR).toISOString() })), {
      ...{ sent: 1, more: false },
    })
    await rig.runner.idle()
    t.equal(receiver.received.at(-1)?.headers['x-svc-event-id'], old)
    t.notOk(receiver.received.some(({ headers }) => headers['x-svc-event-id'] === live))
    t.notOk((await problems()).some((problem) => (problem as { code: string }).code === 'events_lost'))

    t.equal((await resend({})).status, 400)
    t.equal((await resend({ since }, 'whe_01HZZZZZZZZZZZZZZZZZZZZZZZ')).status, 404)
    await rig.send('PATCH', `${WEBHOOKS}/${bad.id}`, { json: { enabled: false } })
    t.equal((await resend({ since })).status, 409)
  })
  await receiver.close()
  await rig.close()
})
