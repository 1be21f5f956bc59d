import t from 'tap'
import { acceptedSignatures, openReceiver, openWebhookRig } from '../../fixtures/api/webhooks.js'
import { openMigratedSqlite } from '../../fixtures/database/sqlite-image.js'
import { VirtualClock } from '../../fixtures/host/clock.js'
import { until } from '../../fixtures/host/until.js'
import { forwardEvents } from './webhooks-listen.js'

const SECRET = 'whsec_local'

/** A listener on a test service. `next` makes it poll the log once more. */
async function start(
  t: { teardown(run: () => Promise<void>): unknown },
  events: readonly string[] | null,
  key?: string,
) {
  const database = await openMigratedSqlite()
  const rig = await openWebhookRig(database)
  const receiver = await openReceiver()
  const clock = new VirtualClock()
  const lines: string[] = []
  const stop = new AbortController()
  const run = () =>
    forwardEvents({
      apiUrl: rig.api.url,
      key: key ?? rig.api.testKey,
      forward: receiver.url,
      events,
      secret: SECRET,
      clock,
      print: (line) => lines.push(line),
      signal: stop.signal,
    })
  t.teardown(async () => {
    stop.abort()
    await rig.close()
    await receiver.close()
    await database.close()
  })
  return {
    rig,
    receiver,
    lines,
    run,
    stop,
    async next() {
      // It waits a second between two polls; a running request takes longer.
      await until(() => clock.nextDueMs === clock.now() + 1_000)
      clock.advance(1_000)
    },
  }
}

t.test('forwards new events, signed, once, oldest first', async (t) => {
  const { rig, receiver, lines, run, stop, next } = await start(t, null)
  await rig.recordEvent()
  await rig.endpoint('http://127.0.0.1:9/1')
  await rig.endpoint('http://127.0.0.1:9/2')
  const listening = run()
  await until(() => lines.length > 0)
  t.strictSame(lines, ['Listening.'])
  rig.clock.advance(1_000)
  const first = await rig.recordEvent()
  rig.clock.advance(1)
  const second = await rig.recordEvent({ type: 'number.renewal_due' })
  await rig.recordEvent({ environment: 'live' })
  await next()
  await until(() => lines.length === 3)
  await next()
  t.strictSame(
    receiver.received.map(({ headers }) => headers['x-svc-event-id']),
    [first, second],
    'an event of two endpoints comes once; one of the other environment does not',
  )
  for (const got of receiver.received) {
    t.equal(acceptedSignatures(got, SECRET), 1)
    t.match(JSON.parse(got.body), { id: got.headers['x-svc-event-id'], environment: 'test' })
  }
  t.match(lines[1], new RegExp(`compliance.check.blocked {2}${first} {2}-> 200`))

  // A slow transaction: its event is older than the newest one and becomes visible only now.
  rig.clock.advance(10_000)
  await rig.recordEvent()
  await next()
  await until(() => receiver.received.length === 3)
  await rig.database.db
    .updateTable('events')
    .set({ createdAt: rig.clock.wall() - 5_000 })
    .where('id', '=', await rig.recordEvent())
    .execute()
  await next()
  await until(() => receiver.received.length === 4)

  // Minutes later the log still lists the earlier events on its first page.
  rig.clock.advance(300_000)
  await rig.recordEvent()
  await next()
  await until(() => receiver.received.length === 5)
  for (let poll = 0; poll < 3; poll++) await next()
  await until(() => lines.length >= 6)
  t.equal(receiver.received.length, 5, 'no event is sent again')
  stop.abort()
  await listening
})

t.test('only the requested types; a receiver that is down is reported', async (t) => {
  const { rig, receiver, lines, run, stop, next } = await start(t, ['number.renewal_due'])
  const listening = run()
  await until(() => lines.length > 0)
  await rig.recordEvent()
  await rig.recordEvent({ type: 'number.renewal_due' })
  receiver.answer = (response) => response.destroy()
  await next()
  await until(() => lines.length === 2)
  t.match(lines[1], /number\.renewal_due .* -> connection_failed/)
  t.equal(receiver.received.length, 1)
  stop.abort()
  await listening
})

t.test('a rejected key ends it; an unreachable service does not', async (t) => {
  const refused = await start(t, null, 'svc_test_nonsense')
  await t.rejects(refused.run(), { code: 'config_invalid', message: /answered 401/ })
  const away = await start(t, null)
  await away.rig.api.close()
  const listening = away.run()
  await until(() => away.lines.length === 1)
  t.match(away.lines[0], /cannot be reached; trying again in 5 s/)
  away.stop.abort()
  await listening
})
