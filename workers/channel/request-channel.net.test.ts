import { MessageChannel } from 'node:worker_threads'
import t, { type Test } from 'tap'
import { VirtualClock } from '../../fixtures/host/clock.js'
import { assertNothingLeft } from '../../fixtures/host/leaks.js'
import { EngineError } from '../../media/base/errors.js'
import type { Log } from '../../media/base/log.js'
import { threadLog } from '../thread/thread-log.js'
import { Outbox } from './outbox.js'
import type { FromWorker, SessionEvent, ToWorker, WorkerRequest } from './protocol.js'
import { RequestChannel, serveRequests } from './request-channel.js'

interface Rig {
  readonly clock: VirtualClock
  readonly channel: RequestChannel
  readonly events: [string, SessionEvent][]
  readonly lost: string[]
  readonly lines: string[]
  /** Posts a message as a worker would. */
  post(message: FromWorker): void
}

/** Connects both sides over a real message port. */
function setUp(t: Test, handle: (request: WorkerRequest) => Promise<unknown>): Rig {
  assertNothingLeft(t)
  const { port1, port2 } = new MessageChannel()
  t.teardown(() => port1.close())
  const lines: string[] = []
  const line = (fields: object, message: string): void => {
    lines.push(`${message} ${JSON.stringify(fields)}`)
  }
  const log: Log = { debug: line, info: line, warn: line, error: line }
  const clock = new VirtualClock()
  const events: [string, SessionEvent][] = []
  const lost: string[] = []
  const channel = new RequestChannel({
    port: port1 as { postMessage(message: ToWorker): void },
    clock,
    log,
    onEvent: (session, event) => events.push([session, event]),
    onLost: (session) => lost.push(session),
  })
  port1.on('message', (message: FromWorker) => channel.receive(message))
  const out = new Outbox({ port: port2 as { postMessage(message: FromWorker): void }, onFull() {} })
  port2.on('message', serveRequests(out, threadLog(out, 3), handle))
  return { clock, channel, events, lost, lines, post: (message) => port2.postMessage(message) }
}

/** Waits two turns of the event loop, one per direction. A timer could fire earlier. */
async function tick(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
}

t.test('each request gets its own result, in any order', async (t) => {
  const release: (() => void)[] = []
  const { channel, clock } = setUp(
    t,
    (request) =>
      new Promise((resolve) => {
        release.push(() => resolve('session' in request ? request.session : null))
      }),
  )
  const one = channel.request({ type: 'close', session: 'one', why: 'hangup' }, 1000)
  const two = channel.request({ type: 'close', session: 'two', why: 'hangup' }, 1000)
  await tick()
  t.equal(channel.pending, 2)
  for (const answer of release.toReversed()) answer()
  t.same(await Promise.all([one, two]), ['one', 'two'])
  t.equal(channel.pending, 0)
  t.equal(clock.pending, 0, 'no timer is left')
})

t.test('errors keep their code; anything else is internal and logged where it arose', async (t) => {
  const { channel, lines } = setUp(t, async (request) => {
    if (request.type === 'load') throw new EngineError('overloaded', 'too much')
    throw new TypeError('a bug')
  })
  await t.rejects(channel.request({ type: 'load' }, 1000), {
    code: 'overloaded',
    message: 'too much',
    retryable: true,
  })
  await t.rejects(channel.request({ type: 'shutdown' }, 1000), { code: 'internal', message: 'a bug' })
  t.match(lines.join(), /worker.request_failed .*"worker":3.*TypeError: a bug/)
})

t.test('a missing result times out; a late one is ignored', async (t) => {
  let answer = (): void => {}
  const { channel, clock } = setUp(
    t,
    () =>
      new Promise((resolve) => {
        answer = () => resolve(null)
      }),
  )
  const request = channel.request({ type: 'load' }, 1000)
  clock.advance(1000)
  await t.rejects(request, { code: 'timeout', context: { request: 'load' } })
  await tick()
  answer()
  await tick()
  t.equal(channel.pending, 0)
})

t.test('closing rejects pending and later requests', async (t) => {
  const { channel, clock, post, events } = setUp(t, () => new Promise(() => {}))
  const pending = channel.request({ type: 'load' }, 1000)
  channel.close(new EngineError('worker_lost', 'gone'))
  channel.close(new EngineError('internal', 'twice'))
  await t.rejects(pending, { code: 'worker_lost' })
  await t.rejects(channel.request({ type: 'load' }, 1000), { code: 'worker_lost' })
  t.equal(clock.pending, 0)
  post({ type: 'event', session: 's', event: { type: 'hang_up' } })
  await tick()
  t.same(events, [], 'and is deaf')
})

t.test('events, losses and log lines are transferred', async (t) => {
  const { post, events, lost, lines } = setUp(t, async () => null)
  post({ type: 'event', session: 's', event: { type: 'media_timeout', leg: 'caller', again: false } })
  post({ type: 'lost', session: 's' })
  const log = threadLog({ postMessage: post }, 1)
  log.debug({}, 'stays here')
  log.info({ f: () => {}, e: new Error('why'), nested: { g: () => {} }, n: 1 }, 'odd fields')
  await tick()
  t.same(events, [['s', { type: 'media_timeout', leg: 'caller', again: false }]])
  t.same(lost, ['s'])
  t.equal(lines.length, 1)
  t.match(lines[0], /odd fields .*"worker":1.*Error: why.*not cloneable.*"n":1/)
})

t.test('a request that cannot be cloned is rejected', async (t) => {
  const { channel, clock } = setUp(t, async () => null)
  const script = { utterances: [], odd: () => {} }
  await t.rejects(channel.request({ type: 'sandboxScript', session: 's', script }, 1000), {
    code: 'internal',
  })
  t.equal(channel.pending, 0)
  t.equal(clock.pending, 0)
})
