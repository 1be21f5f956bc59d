import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { Readable } from 'node:stream'
import t, { type Test } from 'tap'
import { z } from 'zod'
import { openTestApi } from '../../fixtures/api/api.js'
import { openMigratedSqlite } from '../../fixtures/database/sqlite-image.js'
import { type Clock, systemClock } from '../../media/base/clock.js'
import { EngineError } from '../../media/base/errors.js'
import type { CallControl } from '../../signalling/call/ports.js'
import type { Backlog, Deps } from '../api/deps.js'
import { fileOperation, type Operation, operation } from '../api/operation.js'
import { refuse } from '../api/problem.js'
import { health, ready } from '../system/api.js'
import { limitConnections } from './connection-limit.js'
import { buildRoutes } from './routes.js'
import { bindHttp } from './server.js'

async function openApi(
  t: Test,
  operations: readonly Operation[],
  deps: Partial<Deps> = {},
  clock: Clock = systemClock,
) {
  const database = await openMigratedSqlite()
  const api = await openTestApi({ database, operations, deps, clock })
  t.teardown(async () => {
    await api.close()
    await database.close()
  })
  return { api, database }
}

function slow(): { operation: Operation; entered: Promise<void>; release: () => void } {
  let release = (): void => {}
  const held = new Promise<void>((resolve) => {
    release = resolve
  })
  let enter = (): void => {}
  const entered = new Promise<void>((resolve) => {
    enter = resolve
  })
  return {
    entered,
    release: () => release(),
    operation: operation({
      id: 'slow',
      method: 'get',
      path: '/v1/slow',
      tag: 'Test',
      summary: 'Waits',
      audience: 'public',
      status: 200,
      result: z.object({ done: z.boolean() }),
      fails: [],
      run: async () => {
        enter()
        await held
        return { done: true }
      },
    }),
  }
}

t.test('closing lets running requests finish and accepts no new ones', async (t) => {
  const waiting = slow()
  const { api } = await openApi(t, [waiting.operation, health])
  const idle = connect(api.server.port, '127.0.0.1')
  await once(idle, 'connect')
  const answer = api.send('GET', '/v1/slow')
  await waiting.entered
  const closed = api.server.close(10_000)
  await t.rejects(api.send('GET', '/v1/health'))
  waiting.release()
  t.same((await answer).body, { data: { done: true } })
  idle.destroy()
  await closed
})

t.test('closing aborts requests that do not finish in time', async (t) => {
  const waiting = slow()
  const { api } = await openApi(t, [waiting.operation])
  const answer = api.send('GET', '/v1/slow')
  await waiting.entered
  const rejected = t.rejects(answer)
  await api.server.close(20)
  await rejected
  waiting.release()
})

t.test('a port in use is an error that names it', async (t) => {
  const { api } = await openApi(t, [health])
  await t.rejects(bindHttp({ address: '127.0.0.1', port: api.server.port }), {
    code: 'port_unavailable',
    message: new RegExp(`port ${api.server.port}`),
  })
})

t.test('health and ready', async (t) => {
  let backlog: Backlog = { callEvents: 0, jobsIdleMs: 250, isDiskLow: false }
  const calls = { live: 0, draining: false, connected: true } as CallControl & { connected: boolean }
  let now = 0
  const clock = { ...systemClock, now: () => now }
  const { api, database } = await openApi(t, [health, ready], { backlog: () => backlog, calls }, clock)
  t.match(await api.send('GET', '/v1/health', { key: null }), {
    status: 200,
    body: { status: 'ok', data: { status: 'ok' } },
  })
  t.match(await api.send('GET', '/v1/ready', { key: null }), {
    status: 200,
    body: {
      status: 'ready',
      checks: { database: 'ok', calls: 'ok', queue: 'ok', callEvents: 'ok', disk: 'ok' },
      data: { status: 'ready', checks: { database: 'ok' } },
    },
  })
  for (const [waits, checks] of [
    [
      { callEvents: 0, jobsIdleMs: null, isDiskLow: false },
      { queue: 'starting', callEvents: 'ok' },
    ],
    [
      { callEvents: 0, jobsIdleMs: 60_001, isDiskLow: false },
      { queue: 'stuck', callEvents: 'ok' },
    ],
    [
      { callEvents: 2_001, jobsIdleMs: 250, isDiskLow: false },
      { queue: 'ok', callEvents: 'behind' },
    ],
    [
      { callEvents: 0, jobsIdleMs: 250, isDiskLow: true },
      { queue: 'ok', callEvents: 'ok', disk: 'low' },
    ],
  ] as const) {
    backlog = waits
    const answer = await api.send('GET', '/v1/ready', { key: null })
    t.match(answer, { status: 503, body: { error: { code: 'internal_error', details: { checks } } } })
    t.equal(answer.headers.get('retry-after'), '1')
  }
  calls.connected = false
  t.match(await api.send('GET', '/v1/ready', { key: null }), {
    status: 503,
    body: { error: { code: 'internal_error', details: { checks: { calls: 'no_sip_server' } } } },
  })
  calls.connected = true
  await database.close()
  backlog = { callEvents: 0, jobsIdleMs: 250, isDiskLow: false }
  t.equal((await api.send('GET', '/v1/ready')).status, 200, 'an answer of the database counts for a second')
  now += 1000
  t.match(await api.send('GET', '/v1/ready'), {
    status: 503,
    body: {
      error: { type: 'server_error', code: 'internal_error', details: { checks: { database: 'failed' } } },
    },
  })
  t.equal((await api.send('GET', '/v1/health')).status, 200)
})

t.test('one address holds a limited number of connections', async (t) => {
  const server = createServer()
  let reached = 0
  let exempt = false
  limitConnections(server, { perAddress: 2, exempt: () => exempt, onReached: () => reached++ })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const sockets: Socket[] = []
  const open = async () => {
    const accepted = once(server, 'connection')
    const socket = connect(port, '127.0.0.1').on('error', () => {})
    sockets.push(socket)
    const [served] = (await accepted) as [Socket]
    return { socket, served }
  }
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const first = await open()
  t.notOk(first.served.destroyed)
  t.notOk((await open()).served.destroyed)
  for (let i = 0; i < 3; i++) t.ok((await open()).served.destroyed, 'beyond the limit')
  t.equal(reached, 1, 'reported once')
  const closed = once(first.served, 'close')
  first.socket.destroy()
  await closed
  t.notOk((await open()).served.destroyed, 'a closed connection makes room')
  t.ok((await open()).served.destroyed)
  t.equal(reached, 2)
  exempt = true
  t.notOk((await open()).served.destroyed)
})

t.test('an overloaded service says so, with Retry-After', async (t) => {
  const busy = operation({
    id: 'busy',
    method: 'get',
    path: '/v1/busy',
    tag: 'Test',
    summary: 'Has no room',
    audience: 'public',
    status: 200,
    result: z.object({}),
    fails: ['internal_error'],
    run: () => {
      throw new EngineError('overloaded', 'too many passwords at once', { retryable: true })
    },
  })
  const { api } = await openApi(t, [busy])
  const answer = await api.send('GET', '/v1/busy', { key: null })
  t.match(answer, { status: 503, body: { error: { type: 'server_error', code: 'internal_error' } } })
  t.equal(answer.headers.get('retry-after'), '1')
})

t.test('files with byte ranges', async (t) => {
  const modifiedAt = Date.parse('2026-03-01T00:00:00Z')
  const file = fileOperation({
    id: 'file',
    path: '/v1/files/:name',
    tag: 'Test',
    summary: 'A file',
    audience: 'public',
    params: z.object({ name: z.string() }),
    contentType: 'audio/wav',
    fails: [],
    run: ({ params }) => ({
      bytes: 10,
      version: 'one',
      modifiedAt,
      contentType: 'audio/wav',
      fileName: 'नमस्ते.wav',
      open: async ({ start, end } = { start: 0, end: 9 }) => {
        if (params.name === 'broken.wav') {
          return new Readable({
            read() {
              this.push('01')
              this.destroy(new Error('the disk failed'))
            },
          })
        }
        return params.name === 'call.wav'
          ? Readable.from([Buffer.from('0123456789').subarray(start, end + 1)])
          : refuse('not_found', 'The file does not exist.')
      },
    }),
  })
  const { api } = await openApi(t, [file])
  const get = (name: string, headers: Record<string, string> = {}) =>
    fetch(`${api.url}/v1/files/${name}`, { headers })

  const whole = await get('call.wav')
  t.equal(whole.status, 200)
  t.equal(await whole.text(), '0123456789')
  t.equal(whole.headers.get('content-type'), 'audio/wav')
  t.equal(whole.headers.get('accept-ranges'), 'bytes')
  t.equal(whole.headers.get('cache-control'), 'no-store')
  t.match(whole.headers.get('content-disposition'), /^attachment; filename=".*"; filename\*=UTF-8''/)

  const part = await get('call.wav', { range: 'bytes=2-4' })
  t.equal(part.status, 206)
  t.equal(part.headers.get('content-range'), 'bytes 2-4/10')
  t.equal(await part.text(), '234')
  const tail = await get('call.wav', { range: 'bytes=-3' })
  t.equal(await tail.text(), '789')

  const beyond = await get('call.wav', { range: 'bytes=50-' })
  t.equal(beyond.status, 416)
  t.match(await beyond.json(), { error: { code: 'range_not_satisfiable', type: 'invalid_request' } })
  const other = await get('call.wav', { 'if-match': '"other"' })
  t.equal(other.status, 412)
  t.match(await other.json(), { error: { code: 'precondition_failed' } })
  t.equal(beyond.headers.get('content-range'), 'bytes */10')
  t.equal(beyond.headers.get('etag'), null)
  const [etag, modified] = ['"one"', new Date(modifiedAt).toUTCString()]
  t.equal(whole.headers.get('etag'), etag)
  t.equal(whole.headers.get('last-modified'), modified)
  t.equal(whole.headers.get('content-length'), '10')
  const earlier = new Date(modifiedAt - 1000).toUTCString()
  for (const [headers, status, body] of [
    [{ 'if-match': '"x", "one"' }, 200, '0123456789'],
    [{ 'if-match': '*' }, 200, '0123456789'],
    [{ 'if-unmodified-since': modified }, 200, '0123456789'],
    [{ 'if-unmodified-since': earlier }, 412, null],
    [{ 'if-none-match': etag }, 304, ''],
    [{ 'if-none-match': '"two"' }, 200, '0123456789'],
    [{ 'if-modified-since': modified }, 304, ''],
    [{ 'if-modified-since': earlier }, 200, '0123456789'],
    [{ range: 'bytes=1-2', 'if-range': etag }, 206, '12'],
    [{ range: 'bytes=1-2', 'if-range': modified }, 206, '12'],
    [{ range: 'bytes=1-2', 'if-range': '"two"' }, 200, '0123456789'],
    [{ range: 'bytes=1-2,4-5' }, 200, '0123456789'],
    [{ range: 'bytes=0-99' }, 206, '0123456789'],
    [{ range: 'nonsense' }, 200, '0123456789'],
    [{ range: 'pages=1-2' }, 200, '0123456789'],
  ] as const) {
    // Otherwise fetch asks every cache for a new response.
    const answer = await get('call.wav', { 'cache-control': 'max-age=0', ...headers })
    t.equal(answer.status, status, JSON.stringify(headers))
    const text = await answer.text()
    if (body !== null) t.equal(text, body, JSON.stringify(headers))
  }
  const head = await fetch(`${api.url}/v1/files/call.wav`, { method: 'HEAD' })
  t.equal(head.status, 200)
  t.equal(head.headers.get('content-length'), '10')
  await t.rejects(
    get('broken.wav').then((answer) => answer.text()),
    'a file that breaks off is no whole file',
  )

  const gone = await get('other.wav')
  t.equal(gone.status, 404)
  t.equal(gone.headers.get('content-disposition'), null)
  t.match(await gone.json(), { error: { code: 'not_found' } })
})

t.test('a contradictory list of operations is rejected at start', async (t) => {
  const base = {
    id: 'one',
    method: 'get',
    path: '/v1/one/:id',
    tag: 'Test',
    summary: '',
    audience: 'key',
    scope: 'read',
    params: z.object({ id: z.string() }),
    status: 200,
    result: z.object({}),
    fails: [],
    run: () => ({}),
  } as const
  t.equal(buildRoutes([operation(base)]).length, 1)
  const { scope: _scope, ...unscoped } = base
  const { params: _params, ...withoutParams } = base
  const wrong: [operations: readonly Operation[], message: RegExp][] = [
    [[operation(base), operation({ ...base, path: '/v1/two/:id' })], /id is used twice/],
    [[operation(base), operation({ ...base, id: 'two' })], /method and path are used twice/],
    [[operation({ ...base, path: '/v1/one/:other' })], /params/],
    [[operation(withoutParams)], /params/],
    [[operation(unscoped)], /scope/],
    [[operation({ ...base, status: 204 })], /204/],
    [[operation({ ...base, audience: 'staff' })], /scope/],
    [[operation({ ...base, roles: ['owner'] })], /roles/],
    [[operation({ ...base, perMinute: 1 })], /address/],
    [[operation({ ...base, signature: () => null })], /signature scheme/],
  ]
  for (const [operations, message] of wrong) t.throws(() => buildRoutes(operations), { message })
})

t.test('static segments are matched before parameters', async (t) => {
  const at = (id: string, path: `/v1/${string}`, params: z.ZodObject) =>
    operation({
      id,
      method: 'get',
      path,
      tag: 'Test',
      summary: '',
      audience: 'public',
      params,
      status: 200,
      result: z.object({}),
      fails: [],
      run: () => ({}),
    })
  const id = z.object({ id: z.string() })
  const routes = buildRoutes([
    at('b', '/v1/calls/:id/transcript', id),
    at('a', '/v1/calls/:id', id),
    at('d', '/v1/calls/:id/:other', z.object({ id: z.string(), other: z.string() })),
    at('c', '/v1/calls/export.csv', z.object({})),
  ])
  t.same(
    routes.map(({ path }) => path),
    ['/v1/calls/export.csv', '/v1/calls/:id', '/v1/calls/:id/transcript', '/v1/calls/:id/:other'],
  )
})
