import type { ServerResponse } from 'node:http'
import t from 'tap'
import { dataOf } from '../../fixtures/api/calling.js'
import {
  acceptedSignatures,
  openReceiver,
  openWebhookRig,
  type Received,
  type Receiver,
  type WebhookRig,
} from '../../fixtures/api/webhooks.js'
import { onEachDialect } from '../../fixtures/database/databases.js'
import { until } from '../../fixtures/host/until.js'
import { insertEvent } from '../events/store.js'
import { readQueueDepths } from '../observe/queue-depths.js'

const MINUTE = 60_000
const HOUR = 60 * MINUTE

/** Moves time to the next moment something is due and does it. */
async function advanceTo(rig: WebhookRig, at: number): Promise<void> {
  rig.clock.advance(at - rig.clock.wall())
  await rig.runner.idle()
}

/** Reads the attempts of a delivery from the API. */
async function attemptsOf(rig: WebhookRig, id: unknown): Promise<unknown> {
  const path = `/v1/integrations/webhooks/deliveries/${id}`
  return dataOf(await rig.send('GET', path, { key: rig.api.testKey })).attemptLog
}

const attemptOf = ({ headers }: Received) => Number(headers['x-svc-delivery-attempt'])

await onEachDialect(t, async (t, open) => {
  async function rigWith(t: { teardown(run: () => Promise<void>): unknown }): Promise<{
    rig: WebhookRig
    receiver: Receiver
  }> {
    const rig = await openWebhookRig(await open())
    const receiver = await openReceiver()
    t.teardown(async () => {
      await rig.close()
      await receiver.close()
    })
    return { rig, receiver }
  }

  await t.test('one signed request per subscribed, enabled endpoint', async (t) => {
    const { rig, receiver } = await rigWith(t)
    const first = await rig.endpoint(`${receiver.url}/1`)
    const second = await rig.endpoint(`${receiver.url}/2?x=1`, ['call.failed', 'compliance.check.blocked'])
    await rig.endpoint(`${receiver.url}/other-type`, ['call.answered'])
    const off = await rig.endpoint(`${receiver.url}/off`)
    await rig.send('PATCH', `/v1/integrations/webhooks/${off.id}`, { json: { enabled: false } })
    const gone = await rig.endpoint(`${receiver.url}/gone`)
    await rig.send('DELETE', `/v1/integrations/webhooks/${gone.id}`)

    const eventId = await rig.recordEvent()
    await rig.runner.idle()
    t.strictSame(receiver.received.map(({ path }) => path).toSorted(), ['/hook/1', '/hook/2?x=1'])
    for (const got of receiver.received) {
      t.equal(got.method, 'POST')
      t.match(got.headers, {
        'content-type': 'application/json',
        'x-svc-event': 'compliance.check.blocked',
        'x-svc-event-id': eventId,
        'x-svc-delivery-attempt': '1',
        'x-svc-timestamp': String(Math.floor(rig.clock.wall() / 1000)),
      })
      const { secret } = got.path === '/hook/1' ? first : second
      t.equal(acceptedSignatures(got, secret), 1)
      t.equal(acceptedSignatures(got, `${secret}x`), 0)
      t.match(JSON.parse(got.body), {
        id: eventId,
        type: 'compliance.check.blocked',
        environment: 'test',
        created_at: new Date(rig.clock.wall()).toISOString(),
        data: { check: { type: 'dnc', outcome: 'block', e164: '+919876543210' } },
        links: { self: /^http:\/\/parley\.test\/v1\/compliance\/checks\/chk_/ },
      })
    }
    t.match(await rig.delivery(eventId), { status: 'delivered', attempts: 1, lastStatus: 200, body: null })
  })

  await t.test('an event that is not committed is not delivered', async (t) => {
    const { rig, receiver } = await rigWith(t)
    await rig.endpoint(receiver.url)
    const { db } = rig.database
    const failing = db.transaction().execute(async (trx) => {
      await insertEvent(
        trx,
        {
          organizationId: rig.api.organizationId,
          environment: 'test',
          type: 'compliance.check.blocked',
          subjects: { check: 'chk_none' },
        },
        rig.clock.wall(),
      )
      throw new Error('undone')
    })
    await t.rejects(failing, { message: 'undone' })
    await rig.runner.idle()
    t.equal(receiver.received.length, 0)
    t.strictSame(await db.selectFrom('jobs').select('id').execute(), [])
    t.strictSame(await db.selectFrom('webhookDeliveries').select('id').execute(), [])
  })

  await t.test('every class of response', async (t) => {
    const { rig, receiver } = await rigWith(t)
    await rig.endpoint(receiver.url)
    for (const [status, then, error] of [
      [200, 'delivered', null],
      [204, 'delivered', null],
      [301, 'failed', 'redirect'],
      [302, 'failed', 'redirect'],
      [307, 'failed', 'redirect'],
      [400, 'failed', 'status'],
      [404, 'failed', 'status'],
      [410, 'failed', 'status'],
      [408, 'pending', 'status'],
      [429, 'pending', 'status'],
      [500, 'pending', 'status'],
      [503, 'pending', 'status'],
    ] as const) {
      receiver.answer = (response) => response.writeHead(status, { location: receiver.url }).end('ignored')
      receiver.received.length = 0
      const eventId = await rig.recordEvent()
      await rig.runner.idle()
      t.match(
        await rig.delivery(eventId),
        {
          status: then,
          attempts: 1,
          lastStatus: status,
          lastError: error,
          nextAttemptAt: then === 'pending' ? rig.clock.wall() + MINUTE : null,
          deliveredAt: then === 'delivered' ? rig.clock.wall() : null,
        },
        `${status}`,
      )
      t.equal(receiver.received.length, 1, 'redirects are not followed')
    }
    const metrics = await rig.api.deps.telemetry.metrics()
    for (const [outcome, count] of [
      ['delivered', 2],
      ['failed', 6],
      ['retry', 4],
    ] as const) {
      t.match(metrics, `parley_webhook_attempts_total{outcome="${outcome}"} ${count}\n`)
      t.match(metrics, `parley_webhook_attempt_seconds_count{outcome="${outcome}"} ${count}\n`)
    }
    const { webhook_deliveries: waiting } = await readQueueDepths(
      rig.database.db,
      rig.clock.wall() + 3 * MINUTE,
    )
    t.strictSame(waiting, { rows: 4, oldestSeconds: 120 }, 'due for two minutes by then')
    t.equal((await readQueueDepths(rig.database.db, rig.clock.wall())).webhook_deliveries?.oldestSeconds, 0)
  })

  await t.test('the retry schedule; every attempt has the same bytes and a fresh stamp', async (t) => {
    const { rig, receiver } = await rigWith(t)
    const { secret } = await rig.endpoint(receiver.url)
    receiver.answer = (response) => response.writeHead(500).end()
    const start = rig.clock.wall()
    const eventId = await rig.recordEvent()
    const at: number[] = []
    for (let i = 1; i <= 14; i++) {
      await rig.runner.idle()
      at.push((rig.clock.wall() - start) / MINUTE)
      t.equal(receiver.received.length, i)
      const { nextAttemptAt } = await rig.delivery(eventId)
      if (i === 1) {
        // The subject of the event changes; the delivery does not.
        await rig.database.db.updateTable('checks').set({ message: 'changed' }).execute()
      }
      if (i === 14) t.equal(nextAttemptAt, null)
      else {
        // A millisecond before it is due nothing happens.
        await advanceTo(rig, Number(nextAttemptAt) - 1)
        t.equal(receiver.received.length, i)
        await advanceTo(rig, Number(nextAttemptAt))
      }
    }
    t.strictSame(at, [0, 1, 3, 7, 15, 31, 63, 127, 255, 495, 735, 975, 1215, 1455])
    t.strictSame(
      receiver.received.map(attemptOf),
      Array.from({ length: 14 }, (_, i) => i + 1),
    )
    t.equal(new Set(receiver.received.map(({ body }) => body)).size, 1, 'the same bytes')
    t.equal(new Set(receiver.received.map(({ headers }) => headers['x-svc-timestamp'])).size, 14)
    for (const got of receiver.received) t.equal(acceptedSignatures(got, secret), 1)
    const failed = await rig.delivery(eventId)
    t.match(failed, { status: 'failed', attempts: 14, lastStatus: 500, body: null })
    t.strictSame(
      await attemptsOf(rig, failed.id),
      at.map((minutes, i) => ({
        attempt: i + 1,
        at: new Date(start + minutes * MINUTE).toISOString(),
        ...{ status: 500, error: 'status', durationMs: 0 },
      })),
    )
    await advanceTo(rig, rig.clock.wall() + 24 * HOUR)
    t.equal(receiver.received.length, 14)
    t.strictSame(await rig.database.db.selectFrom('jobs').select('id').execute(), [])
  })

  await t.test('Retry-After, and success on a later attempt', async (t) => {
    const { rig, receiver } = await rigWith(t)
    const { id } = await rig.endpoint(receiver.url)
    receiver.answer = (response) => response.writeHead(429, { 'retry-after': '600' }).end()
    const start = rig.clock.wall()
    const eventId = await rig.recordEvent()
    await rig.runner.idle()
    t.match(await rig.delivery(eventId), { nextAttemptAt: start + 600_000 })
    receiver.answer = (response) => response.end()
    await advanceTo(rig, start + 600_000)
    t.match(await rig.delivery(eventId), {
      status: 'delivered',
      attempts: 2,
      deliveredAt: start + 600_000,
      nextAttemptAt: null,
    })
    t.match((await rig.send('GET', `/v1/integrations/webhooks/${id}`)).body, {
      data: { consecutiveFailures: 0 },
    })
  })

  await t.test('the log of a delivery has the attempts during which a process died', async (t) => {
    const { rig, receiver } = await rigWith(t)
    await rig.endpoint(receiver.url)
    receiver.answer = (response) => response.writeHead(503).end()
    const start = rig.clock.wall()
    const eventId = await rig.recordEvent()
    await rig.runner.idle()
    const { id } = await rig.delivery(eventId)
    const { db } = rig.database
    // A process that dies before the answer leaves this.
    const died = (attempts: number, lastAttemptAt: number) =>
      db
        .updateTable('webhookDeliveries')
        .set({ attempts, lastAttemptAt })
        .where('status', '=', 'pending')
        .execute()
    await died(2, start + 10_000)
    receiver.answer = (response) => response.end()
    await advanceTo(rig, start + MINUTE)
    const entry = (attempt: number, after: number, status: number | null, error: string | null) => ({
      attempt,
      at: new Date(start + after).toISOString(),
      ...{ status, error, durationMs: error === 'interrupted' ? null : 0 },
    })
    t.strictSame(await attemptsOf(rig, id), [
      entry(1, 0, 503, 'status'),
      entry(2, 10_000, null, 'interrupted'),
      entry(3, MINUTE, 200, null),
    ])

    receiver.answer = (response) => response.writeHead(503).end()
    const last = await rig.recordEvent()
    await rig.runner.idle()
    const { id: lastId } = await rig.delivery(last)
    t.equal(receiver.received.length, 3)
    await died(14, rig.clock.wall() + 5_000)
    await advanceTo(rig, rig.clock.wall() + MINUTE)
    t.match(await rig.delivery(last), { status: 'failed', lastError: 'interrupted' })
    t.strictSame(await attemptsOf(rig, lastId), [
      entry(1, MINUTE, 503, 'status'),
      entry(14, MINUTE + 5_000, null, 'interrupted'),
    ])
    t.equal(receiver.received.length, 3, 'no further request')

    const early = await rig.recordEvent()
    await rig.runner.idle()
    const { id: earlyId } = await rig.delivery(early)
    // As an earlier release left it.
    await db
      .updateTable('webhookDeliveries')
      .set({ attempts: 3, attemptLog: null })
      .where('eventId', '=', early)
      .execute()
    receiver.answer = (response) => response.end()
    await advanceTo(rig, rig.clock.wall() + MINUTE)
    t.strictSame(await attemptsOf(rig, earlyId), [entry(4, 3 * MINUTE, 200, null)])
  })

  await t.test('a receiver that hangs, one that resets, one that is not there', async (t) => {
    const { rig, receiver } = await rigWith(t)
    await rig.endpoint(receiver.url)
    receiver.answer = () => {}
    const slow = await rig.recordEvent()
    rig.runner.wake()
    await until(() => receiver.received.length === 1)
    rig.clock.advance(9_999)
    t.match(await rig.delivery(slow), { lastError: null, attempts: 1 }, 'still waiting')
    rig.clock.advance(1)
    await rig.runner.idle()
    t.match(await rig.delivery(slow), {
      status: 'pending',
      lastError: 'timeout',
      lastStatus: null,
      lastDurationMs: 10_000,
      nextAttemptAt: rig.clock.wall() + MINUTE,
    })

    receiver.answer = (response) => response.destroy()
    const reset = await rig.recordEvent()
    await rig.runner.idle()
    t.match(await rig.delivery(reset), { status: 'pending', lastError: 'connection_failed', attempts: 1 })

    await receiver.close()
    const absent = await rig.recordEvent()
    await rig.runner.idle()
    t.match(await rig.delivery(absent), { status: 'pending', lastError: 'connection_failed', attempts: 1 })
    receiver.close = async () => {}
  })

  await t.test('a kept connection that the receiver closed costs no attempt', async (t) => {
    const { rig, receiver } = await rigWith(t)
    await rig.endpoint(receiver.url)
    await rig.recordEvent()
    await rig.runner.idle()
    let closed = 0
    receiver.answer = (response, got) => {
      if (closed++ === 0) response.socket?.resetAndDestroy()
      else response.end(got.path)
    }
    const eventId = await rig.recordEvent()
    await rig.runner.idle()
    t.match(await rig.delivery(eventId), { status: 'delivered', attempts: 1 })
    t.equal(receiver.received.length, 3)
  })

  await t.test('an endless body does not delay the delivery', async (t) => {
    const { rig, receiver } = await rigWith(t)
    await rig.endpoint(receiver.url)
    receiver.answer = (response) => {
      response.writeHead(200)
      response.write('and so on')
    }
    const eventId = await rig.recordEvent()
    await rig.runner.idle()
    t.match(await rig.delivery(eventId), { status: 'delivered' })
    rig.clock.advance(2_000)
  })

  await t.test('during a roll both secrets sign, afterwards the new one', async (t) => {
    const { rig, receiver } = await rigWith(t)
    const { id, secret } = await rig.endpoint(receiver.url)
    const rolled = await rig.send('POST', `/v1/integrations/webhooks/${id}/roll-secret`)
    const { secret: next } = (rolled.body as { data: { secret: string } }).data
    const check = async (expected: readonly [old: number, now: number]) => {
      receiver.received.length = 0
      await rig.recordEvent()
      await rig.runner.idle()
      const [got] = receiver.received
      if (got === undefined) throw new Error('nothing came')
      t.strictSame([acceptedSignatures(got, secret), acceptedSignatures(got, next)], expected)
    }
    await check([1, 1])
    rig.clock.advance(24 * HOUR - 1)
    await check([1, 1])
    rig.clock.advance(1)
    await check([0, 1])
  })

  await t.test('an endpoint that hangs does not delay another', async (t) => {
    const { rig, receiver } = await rigWith(t)
    const good = await openReceiver()
    t.teardown(() => good.close())
    const hanging: ServerResponse[] = []
    receiver.answer = (response) => {
      hanging.push(response)
    }
    await rig.endpoint(receiver.url)
    for (let i = 0; i < 60; i++) await rig.recordEvent()
    rig.runner.wake()
    await until(() => hanging.length > 0)
    await rig.endpoint(good.url, ['number.released'])
    await rig.recordEvent({ type: 'number.released' })
    rig.runner.wake()
    await until(() => good.received.length === 1)
    t.ok(hanging.length <= 16, `${hanging.length} at once`)
    receiver.answer = (response) => response.end()
    for (const response of hanging) response.end()
    await rig.runner.idle()
    t.equal(receiver.received.length, 60)
  })
})
