import { connect } from 'node:net'
import t, { type Test } from 'tap'
import { z } from 'zod'
import { EventStream } from '../../clients/typescript/event-stream.js'
import { type BrowserSession, openUsersApi, type UsersApi } from '../../fixtures/api/browser-session.js'
import { onEachDialect } from '../../fixtures/database/databases.js'
import { until } from '../../fixtures/host/until.js'
import { logOut } from '../access/sessions/api.js'
import { EventQueue } from '../api/event-queue.js'
import { eventStreamOperation } from '../api/operation.js'

/** The open sources of the test, newest last. */
const sources: EventQueue[] = []
let closed = 0

const watch = eventStreamOperation({
  id: 'watch',
  path: '/v1/watch',
  tag: 'Test',
  summary: 'Watch',
  audience: 'session',
  events: { said: z.object({ text: z.string() }) },
  fails: [],
  run: () => {
    const queue = new EventQueue(() => closed++)
    sources.push(queue)
    return queue
  },
})

const cookies = (browser: BrowserSession) => ({
  cookie: [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; '),
})

async function openStream(api: UsersApi, browser: BrowserSession) {
  const response = await fetch(`${api.url}/v1/watch`, { headers: cookies(browser) })
  const stream = new EventStream(response)
  const source = sources.at(-1)
  if (source === undefined) throw new Error('no source was opened')
  return { response, source, events: stream[Symbol.asyncIterator]() }
}

const said = (text: string) => ({ event: 'said', data: { text } })
const ended = (reason: string) => ({ done: false, value: { event: 'end', data: { reason } } })

async function withApi(t: Test, run: (t: Test, api: UsersApi) => Promise<void>): Promise<void> {
  await onEachDialect(t, async (t, open) => {
    const api = await openUsersApi({ database: await open(), operations: [watch, logOut] })
    closed = 0
    await run(t, api)
    await api.close()
  })
}

t.test('a stream carries events until its session ends', async (t) => {
  await withApi(t, async (t, api) => {
    t.equal((await fetch(`${api.url}/v1/watch`)).status, 401)
    const { browser } = await api.member('viewer')
    const { response, source, events } = await openStream(api, browser)
    t.match(Object.fromEntries(response.headers), {
      'content-type': 'text/event-stream',
      'cache-control': 'no-store, no-transform',
      'x-accel-buffering': 'no',
    })
    source.push('a', said('one'))
    t.same(await events.next(), { done: false, value: said('one') })
    const next = events.next()
    api.clock.advance(15_000)
    source.push('a', said('two'))
    t.same(await next, { done: false, value: said('two') }, 'the session is still valid')
    const last = events.next()
    t.equal((await browser.send('POST', '/v1/auth/logout')).status, 204)
    api.clock.advance(15_000)
    t.same(await last, ended('credential'))
    t.equal((await events.next()).done, true)
    t.equal(closed, 1)
  })
})

t.test('a source is closed when its client goes away or only asks for the head', async (t) => {
  await withApi(t, async (t, api) => {
    const { browser } = await api.member('viewer')
    const { source, events } = await openStream(api, browser)
    source.push('a', said('one'))
    await events.next()
    await events.return()
    await until(() => closed === 1)
    const head = await fetch(`${api.url}/v1/watch`, { method: 'HEAD', headers: cookies(browser) })
    t.equal(head.status, 200)
    t.equal(closed, 2)
  })
})

t.test('an event that was not declared ends the stream without a second head', async (t) => {
  await withApi(t, async (t, api) => {
    const { browser } = await api.member('viewer')
    const { source, events } = await openStream(api, browser)
    source.push('a', { event: 'unknown', data: {} })
    await t.rejects(events.next())
    t.equal(closed, 1)
  })
})

t.test('a server that stops ends its streams first', async (t) => {
  await withApi(t, async (t, api) => {
    const { browser } = await api.member('viewer')
    const { events } = await openStream(api, browser)
    const last = events.next()
    const stopped = api.server.close(60_000)
    t.same(await last, ended('restart'))
    await stopped
    t.equal(closed, 1)
  })
})

t.test('a client that does not read is told and disconnected', async (t) => {
  await withApi(t, async (t, api) => {
    const { browser } = await api.member('viewer')
    const socket = connect({ host: '127.0.0.1', port: Number(new URL(api.url).port) })
    const { cookie } = cookies(browser)
    socket.write(`GET /v1/watch HTTP/1.1\r\nhost: x\r\ncookie: ${cookie}\r\nconnection: close\r\n\r\n`)
    const opened = sources.length
    await until(() => sources.length > opened)
    const source = sources.at(-1)
    if (source === undefined) throw new Error('no source was opened')
    // More than the socket buffers of both sides hold.
    const long = 'x'.repeat(64 * 1024)
    for (let i = 0; i < 256; i++) source.push(String(i), said(long))
    // A look in every turn of the event loop would let the session expire first.
    await until(
      () => {
        api.clock.advance(31_000)
        return closed === 1
      },
      { everyMs: 5 },
    )
    const read: Buffer[] = []
    const end = new Promise((resolve) => socket.once('close', resolve))
    socket.on('data', (chunk: Buffer) => read.push(chunk)).on('error', () => {})
    await end
    const text = Buffer.concat(read).toString('latin1')
    t.match(text, /event: end\ndata: \{"reason":"slow"\}/)
    socket.destroy()
  })
})
