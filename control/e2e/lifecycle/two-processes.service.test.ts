import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { startPostgres } from '../../../fixtures/database/postgres.js'
import { WAIT_LIMIT_MS } from '../../../fixtures/host/deadlines.js'
import { until } from '../../../fixtures/host/until.js'
import { runCli, START_ENV, temporaryFolder } from '../../../fixtures/service/cli.js'
import { type Json, type ServiceAnswer, TEST_AGENT } from '../../../fixtures/service/service.js'
import { systemClock } from '../../../media/base/clock.js'

/*
 * Two service processes on one PostgreSQL database, started at the same moment on an empty one.
 */

t.test('two processes on one PostgreSQL', async (t) => {
  const postgres = await startPostgres()
  t.teardown(() => postgres.stop())
  const url = await postgres.createDatabase()
  const folder = await temporaryFolder(t)
  const clis = await Promise.all(
    ['one', 'two'].map(async (name) => {
      await mkdir(join(folder, name))
      return runCli(t, join(folder, name), ['start'], {
        ...START_ENV,
        PARLEY_DATABASE_URL: url,
        PARLEY_ROOT_KEY: 'cd'.repeat(32),
      })
    }),
  )
  const ready = await Promise.all(clis.map((cli) => cli.logged('service.ready')))
  const bases = ready.map(({ api }) => String(api))
  // Each process has two pipes, and that of its log may be read before the other.
  const keys = () => clis.flatMap(({ stderr }) => /Test key +(\S+)\s/.exec(stderr)?.[1] ?? [])
  await until(() => keys().length > 0)
  t.equal(keys().length, 1, 'one of them made the workspace')
  const key = keys()[0] ?? ''

  const send = async (
    process: 0 | 1,
    method: string,
    path: string,
    body?: unknown,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<ServiceAnswer> => {
    const response = await fetch(`${bases[process]}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${key}`,
        connection: 'close',
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    return { status: response.status, headers: response.headers, body: text === '' ? {} : JSON.parse(text) }
  }
  const data = ({ body }: ServiceAnswer): Json => body.data as Json

  // The call outlasts the start of a third process.
  const callSettings = {
    ...(TEST_AGENT.callSettings as Json),
    maxCallSeconds: 1_800,
    nudges: { enabled: false },
  }
  const agent = data(await send(0, 'POST', '/v1/agents', { ...TEST_AGENT, callSettings }))
  t.equal(
    (await send(1, 'POST', `/v1/agents/${agent.id}/publish`, {})).status,
    201,
    'made here, published there',
  )
  const [number] = (await send(1, 'GET', '/v1/numbers')).body.data as Json[]
  await send(0, 'PATCH', `/v1/numbers/${number?.id}`, { agentId: agent.id, recordCalls: true })

  const order = { to: '+919000000011', numberId: number?.id }
  const answers = await Promise.all(
    Array.from({ length: 10 }, (_, index) =>
      send(index % 2 === 0 ? 0 : 1, 'POST', '/v1/calls', order, { 'idempotency-key': 'order-17' }),
    ),
  )
  const made = new Set(answers.filter(({ status }) => status === 201).map((answer) => data(answer).id))
  t.equal(made.size, 1, 'one call, whoever was asked')
  t.ok(
    answers.every(({ status }) => status === 201 || status === 409),
    answers.map(({ status }) => status).join(),
  )
  for (const process of [0, 1] as const) {
    const again = await send(process, 'POST', '/v1/calls', order, { 'idempotency-key': 'order-17' })
    t.equal(again.status, 201)
    t.equal(again.headers.get('idempotency-replayed'), 'true', `replayed by process ${process}`)
    t.ok(made.has(data(again).id))
  }
  t.match((await send(1, 'GET', '/v1/calls')).body, { meta: { pagination: { total: 1 } } })

  // The clock of a third process is five minutes ahead: leases go by the database's clock.
  const callId = String([...made][0])
  await mkdir(join(folder, 'three'))
  const ahead = 'const now = Date.now; Date.now = () => now() + 300_000'
  const third = runCli(t, join(folder, 'three'), ['start'], {
    ...START_ENV,
    PARLEY_DATABASE_URL: url,
    PARLEY_ROOT_KEY: 'cd'.repeat(32),
    NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(ahead)}`,
  })
  await third.logged('service.ready')
  t.match(data(await send(1, 'GET', `/v1/calls/${callId}`)), { endedAt: null }, 'a live call stays live')
  third.process.kill('SIGTERM')
  t.equal(await third.exit(), 0)

  const deadline = systemClock.now() + WAIT_LIMIT_MS
  const reached = async (status: string): Promise<Json> => {
    let call = data(await send(0, 'GET', `/v1/calls/${callId}`))
    while (call.status !== status && systemClock.now() < deadline) {
      await new Promise<void>((resolve) => systemClock.after(100, resolve))
      call = data(await send(1, 'GET', `/v1/calls/${callId}`))
    }
    return call
  }
  // One process carries the call. Its desk answers requests that reach the other one.
  await reached('in_progress')
  for (const process of [0, 1] as const) {
    const asked = await send(process, 'POST', `/v1/calls/${callId}/transfer`, {})
    t.match(asked, { status: 422, body: { error: { details: { path: 'destinationId' } } } }, `by ${process}`)
    const named = await send(process, 'POST', `/v1/calls/${callId}/transfer`, { destinationId: 'nobody' })
    t.match(data(named), { accepted: false, refusal: 'destination_not_allowed' }, `by ${process}`)
  }

  // The other one can end it.
  for (const process of [0, 1] as const) {
    t.equal((await send(process, 'POST', `/v1/calls/${callId}/hangup`)).status, 200)
  }
  t.match(await reached('ended'), { status: 'ended', endedReason: 'api_hangup' })

  clis[0]?.process.kill('SIGTERM')
  t.equal(await clis[0]?.exit(), 0)
  t.equal((await send(1, 'GET', `/v1/calls/${callId}`)).status, 200, 'the other one goes on')
  t.equal((await send(1, 'GET', '/v1/ready')).status, 200)
  clis[1]?.process.kill('SIGTERM')
  t.equal(await clis[1]?.exit(), 0)
})
