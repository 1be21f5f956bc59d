import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { createServer, type Server } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import t from 'tap'
import { type BotOptions, openBot } from '../../../fixtures/bots/bot.js'
import { VirtualClock } from '../../../fixtures/host/clock.js'
import { makeAuthority } from '../../../fixtures/sip/certificates.js'
import { systemClock } from '../../base/clock.js'
import { openSafeResolver } from '../../base/public-address.js'
import { Scope } from '../../base/scope.js'
import { dialectOf } from '../dialects/registry.js'
import { ABNORMAL, type BotConnectionEvents } from './bot-connection.js'
import { connectBot } from './connect-bot.js'

const handshake = (url: string, subprotocols: readonly (readonly string[])[] = [[]]) => ({
  transport: 'websocket' as const,
  url,
  headers: { 'x-call-id': 'c' },
  subprotocols,
})

function listener() {
  const seen: string[] = []
  let closed: (code: number) => void = () => {}
  const ended = new Promise<number>((resolve) => {
    closed = resolve
  })
  const events: BotConnectionEvents = {
    opened: () => {},
    text: (data) => {
      seen.push(data.toString())
    },
    binary: (data) => {
      seen.push(`${data.length} bytes`)
    },
    closed,
    internalError: (error) => {
      throw error
    },
  }
  return { seen, events, ended }
}

const names = openSafeResolver(true)

async function dial(
  url: string,
  more: {
    allowPrivate?: boolean
    clock?: typeof systemClock
    subprotocols?: readonly (readonly string[])[]
  } = {},
) {
  const { allowPrivate = true, clock = systemClock, subprotocols } = more
  const heard = listener()
  const connection = await connectBot(
    {
      handshake: handshake(url, subprotocols),
      clock,
      lookup: openSafeResolver(allowPrivate).lookupOf(''),
      allowPrivate,
      events: heard.events,
    },
    new Scope(),
  )
  return { connection, ...heard }
}

t.test('one retry after a temporary failure, none after a rejection', async (t) => {
  for (const [status, attempts] of [
    [500, 2],
    [503, 2],
    [302, 2],
    [401, 1],
    [403, 1],
    [404, 1],
  ] as const) {
    const bot = await openBot(t, { refuse: () => status })
    const { connection } = await dial(bot.url)
    t.match(connection, { ok: false, status, reason: `the bot answered ${status}` })
    t.equal(bot.attempts, attempts, `${status}`)
  }
  let first = true
  const options: BotOptions = {
    refuse: () => {
      const status = first ? 500 : null
      first = false
      return status
    },
  }
  const bot = await openBot(t, options)
  const { connection } = await dial(bot.url)
  t.equal(connection.ok, true, 'the second try counts')
})

/** As the dialect offers them. */
const JAMBONZ = dialectOf('jambonz').subprotocols ?? []

t.test('a bot that knows only the documented subprotocol of jambonz is reached at once', async (t) => {
  const strict = await openBot(t, {
    subprotocol: (offered) => (offered.has('audio.jambonz.org') ? 'audio.jambonz.org' : false),
  })
  await dial(strict.url, { subprotocols: JAMBONZ })
  t.equal(strict.calls[0]?.socket.protocol, 'audio.jambonz.org')
  t.equal(strict.attempts, 1)
})

t.test('jambonz: with its subprotocol first, without it after a rejection', async (t) => {
  const wants = await openBot(t)
  await dial(wants.url, { subprotocols: JAMBONZ })
  t.equal(wants.calls[0]?.socket.protocol, 'audio.drachtio.org')
  const refuses = await openBot(t, { subprotocol: () => false })
  const { connection } = await dial(refuses.url, { subprotocols: JAMBONZ })
  t.equal(connection.ok, true)
  t.equal(refuses.attempts, 2)
})

t.test('no private address and no unencrypted ws, unless the operator allows it', async (t) => {
  const bot = await openBot(t)
  for (const url of [
    bot.url,
    bot.url.replace('ws:', 'wss:'),
    'wss://[::1]:9/',
    'wss://localhost:9/',
    'nonsense',
  ]) {
    const { connection } = await dial(url, { allowPrivate: false })
    t.equal(connection.ok, false, url)
  }
  t.equal(bot.attempts, 0, 'and nothing was even asked')
})

t.test('the reason of a failed connection does not reveal the address', async (t) => {
  const refused = await dial('ws://127.0.0.1:9/')
  t.match(refused.connection, { ok: false, reason: 'no connection (ECONNREFUSED)', status: null })
  const unknown = await dial('wss://nowhere.invalid/', { allowPrivate: false })
  t.equal(unknown.connection.ok, false)
})

t.test('an untrusted certificate is rejected', async (t) => {
  const authority = makeAuthority(t)
  const { certificate, key } = authority.issue('IP:127.0.0.1')
  const server = createTlsServer({ cert: certificate, key }, (socket) => socket.on('error', () => {}))
  server.on('tlsClientError', () => {}) // what it is about
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const { connection } = await dial(`wss://127.0.0.1:${(server.address() as AddressInfo).port}/`)
  t.match(connection, { ok: false, reason: /^no connection \(.*(CERT|SIGNATURE|ISSUER)/ })
})

t.test('a server that never answers is abandoned after 5 s', async (t) => {
  const silent: Server = createServer((socket) => socket.on('error', () => {}))
  silent.listen(0, '127.0.0.1')
  await once(silent, 'listening')
  t.teardown(() => silent.close())
  const clock = new VirtualClock()
  const accepted = once(silent, 'connection')
  const heard = listener()
  const dialled = connectBot(
    {
      handshake: handshake(`ws://127.0.0.1:${(silent.address() as AddressInfo).port}/`),
      clock,
      lookup: names.lookupOf(''),
      allowPrivate: true,
      events: heard.events,
    },
    new Scope(),
  )
  await accepted
  clock.advance(5_000)
  t.match(await dialled, { ok: false, reason: 'the bot did not answer in time' })
})

t.test('a call that ends while the bot is being connected abandons the attempt', async (t) => {
  const silent: Server = createServer((socket) => socket.on('error', () => {}))
  silent.listen(0, '127.0.0.1')
  await once(silent, 'listening')
  t.teardown(() => silent.close())
  const scope = new Scope()
  const accepted = once(silent, 'connection')
  const dialled = connectBot(
    {
      handshake: handshake(`ws://127.0.0.1:${(silent.address() as AddressInfo).port}/`),
      clock: systemClock,
      lookup: names.lookupOf(''),
      allowPrivate: true,
      events: listener().events,
    },
    scope,
  )
  await accepted
  await scope.close()
  t.match(await dialled, { ok: false })
})

t.test('a ping every 15 s; two without a pong end the connection', async (t) => {
  const pings: number[] = []
  const bot = await openBot(t, { onCall: ({ socket }) => socket.on('ping', () => pings.push(1)) })
  const clock = new VirtualClock()
  const { connection, ended } = await dial(bot.url, { clock })
  if (!connection.ok) throw new Error(connection.reason)
  const { socket: theirs } = await bot.call()
  clock.advance(15_000)
  await once(theirs, 'ping')
  // The answer is on its way: a message behind it tells that it came.
  theirs.send('after the pong')
  await new Promise<void>((resolve) => theirs.ping('', false, () => resolve()))
  await once(theirs, 'pong')
  theirs.pause()
  for (let i = 0; i < 3; i++) clock.advance(15_000)
  t.equal(await ended, ABNORMAL)
})

t.test('the closing handshake is limited to a second', async (t) => {
  const bot = await openBot(t)
  const clock = new VirtualClock()
  const { connection, ended } = await dial(bot.url, { clock })
  if (!connection.ok) throw new Error(connection.reason)
  const { socket: theirs } = await bot.call()
  theirs.pause()
  connection.connection.close(1000)
  connection.connection.close(1000)
  connection.connection.send('too late')
  clock.advance(1_000)
  t.equal(await ended, ABNORMAL, 'its answer never came')
})

t.test('a message over 4 MiB closes the socket', async (t) => {
  const bot = await openBot(t)
  const { connection, ended, seen } = await dial(bot.url)
  t.equal(connection.ok, true)
  const there = await bot.call()
  there.send('x'.repeat(4 * 1024 * 1024))
  there.send('x'.repeat(4 * 1024 * 1024 + 1))
  await ended
  t.strictSame(
    seen.map(({ length }) => length),
    [4 * 1024 * 1024],
    'the largest that is taken was',
  )
  await there.until('the end', () => there.closed !== null)
  t.equal(there.closed?.code, 1009)
})

t.test('a flood is read at a limited multiple of real time', async (t) => {
  const bot = await openBot(t)
  const clock = new VirtualClock()
  const { connection, seen } = await dial(bot.url, { clock })
  if (!connection.ok) throw new Error(connection.reason)
  const there = await bot.call()
  const piece = Buffer.alloc(1024 * 1024)
  for (let i = 0; i < 40; i++) there.send(piece)
  const settle = () => new Promise<void>((resolve) => systemClock.after(150, resolve))
  while (seen.length < 6) await settle()
  await settle()
  t.ok(seen.length <= 8, `${seen.length} MiB of 40 were read while no time passed`)
  const before = seen.length
  clock.advance(2_000)
  while (seen.length === before) await settle()
  connection.connection.terminate()
  t.ok(seen.length < 40)
})

t.test('tiny messages are read at a limited rate per second', async (t) => {
  const bot = await openBot(t)
  const clock = new VirtualClock()
  const { connection, seen } = await dial(bot.url, { clock })
  if (!connection.ok) throw new Error(connection.reason)
  const there = await bot.call()
  // On the wire at once; the line decides what is read of it.
  for (let i = 0; i < 40_000; i++) there.send('{}')
  const settle = () => new Promise<void>((resolve) => systemClock.after(100, resolve))
  const settled = async (): Promise<number> => {
    for (let before = -1; before !== seen.length; await settle()) before = seen.length
    return seen.length
  }
  while (seen.length === 0) await settle()
  // 30 ms at 5 us each, and one piece that the system hands over at once: 64 KiB in messages of 4 bytes.
  const first = await settled()
  t.ok(first <= 6_000 + 16_384, `${first} while no time passed`)
  clock.advance(1_000)
  const second = (await settled()) - first
  t.ok(second > 0 && second <= 4_000 + 16_384, `${second} in a second`)
  connection.connection.terminate()
})

t.test('a bot that reads nothing is noticed, whatever the buffers of the sockets hold', async (t) => {
  const bot = await openBot(t)
  const clock = new VirtualClock()
  const { connection } = await dial(bot.url, { clock })
  if (!connection.ok) throw new Error(connection.reason)
  const line = connection.connection
  const { socket: theirs } = await bot.call()
  line.send('{}')
  t.equal(line.unreadMs, 0)
  clock.advance(300)
  t.equal(line.unreadMs, 300, 'the round trip is not known yet')
  while (line.unreadMs > 0) await new Promise<void>((resolve) => setImmediate(resolve))
  theirs.pause()
  clock.advance(100)
  line.send('{}')
  clock.advance(5_000)
  t.equal(line.bufferedBytes, 0, 'the operating system took it')
  t.ok(line.unreadMs >= 4_000, `${line.unreadMs} ms`)
  theirs.resume()
  while (line.unreadMs > 0) await new Promise<void>((resolve) => setImmediate(resolve))
  clock.advance(5_000)
  t.equal(line.unreadMs, 0, 'nothing was sent since')
})
