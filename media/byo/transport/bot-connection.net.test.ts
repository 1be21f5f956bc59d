import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import t from 'tap'
import { VirtualClock } from '../../../fixtures/host/clock.js'
import { type Clock, systemClock } from '../../base/clock.js'
import { openSafeResolver, type Resolver } from '../../base/public-address.js'
import { Scope } from '../../base/scope.js'
import type { BotConnection } from './bot-connection.js'
import { ABNORMAL } from './bot-connection.js'
import { connectBot } from './connect-bot.js'

/* Bots that are hostile below the messages: the opening request, frames, and the TCP stream itself. */

const HEADERS_MAX = 16 * 1024
const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'

interface Teardown {
  teardown(run: () => Promise<void>): unknown
}

/** A TCP server that is told of every connection and of the opening request on it. */
async function listen(t: Teardown, asked: (socket: Socket, request: string) => void) {
  const sockets: Socket[] = []
  const server = createServer((socket) => {
    sockets.push(socket)
    socket.on('error', () => {}) // a broken line is what it is about
    socket.once('data', (request) => asked(socket, request.toString('latin1')))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(async () => {
    for (const socket of sockets) socket.destroy()
    server.close()
    await once(server, 'close')
  })
  const { port } = server.address() as AddressInfo
  return { url: `ws://127.0.0.1:${port}/`, port, sockets }
}

/** The answer that opens the socket, with headers of the test's own. */
function agreed(request: string, more = ''): string {
  const key = /^sec-websocket-key: (.*)$/im.exec(request)?.[1] ?? ''
  const accept = createHash('sha1').update(`${key}${GUID}`).digest('base64')
  return `HTTP/1.1 101 Go\r\nupgrade: websocket\r\nconnection: upgrade\r\nsec-websocket-accept: ${accept}\r\n${more}\r\n`
}

async function dial(url: string, more: { clock?: Clock; resolve?: Resolver; allowPrivate?: boolean } = {}) {
  const { clock = systemClock, resolve, allowPrivate = true } = more
  const texts: string[] = []
  const faults: unknown[] = []
  let closed: (code: number) => void = () => {}
  const ended = new Promise<number>((settle) => {
    closed = settle
  })
  const connection = await connectBot(
    {
      handshake: { transport: 'websocket', url, headers: { 'x-call-id': 'c' }, subprotocols: [[]] },
      clock,
      lookup: openSafeResolver(allowPrivate, ...(resolve === undefined ? [] : [resolve])).lookupOf(''),
      allowPrivate,
      events: {
        opened: () => {},
        text: (data) => texts.push(data.toString()),
        binary: () => {},
        closed,
        internalError: (error) => faults.push(error),
      },
    },
    new Scope(),
  )
  return { connection, texts, faults, ended }
}

/** An open line, and the bare socket at its other end. */
async function open(t: Teardown, clock?: Clock) {
  const bot = await listen(t, (socket, request) => socket.write(agreed(request)))
  const dialled = await dial(bot.url, clock === undefined ? {} : { clock })
  if (!dialled.connection.ok) throw new Error(dialled.connection.reason)
  const { connection: line } = dialled.connection
  return { ...dialled, line, there: bot.sockets[0] as Socket }
}

const frame = (first: number, payload: Uint8Array | string = '') => {
  const body = Buffer.from(payload)
  if (body.length < 126) return Buffer.concat([Buffer.of(first, body.length), body])
  return Buffer.concat([Buffer.of(first, 126, body.length >> 8, body.length & 0xff), body])
}

t.test('an invalid address counts as an unreachable bot', async (t) => {
  const { connection } = await dial('ws://127.0.0.1:9/talk#here')
  t.match(connection, { ok: false, status: null })
})

t.test('invalid responses to the upgrade request', async (t) => {
  const rows: readonly [string, (socket: Socket, request: string) => void, RegExp][] = [
    ['a reset', (socket) => socket.resetAndDestroy(), /^no connection \(ECONNRESET\)$/],
    ['the end', (socket) => socket.end(), /^no connection \(ECONNRESET\)$/],
    ['another protocol', (socket) => socket.end('SSH-2.0-x\r\n'), /^no connection \(HPE_/],
    ['half an answer', (socket) => socket.end('HTTP/1.1 101 Go\r\nupgrade: web'), /^no connection/],
    ['no key', (socket) => socket.write(agreed('')), /Sec-WebSocket-Accept/i],
    [
      'compression nobody asked for',
      (socket, request) => socket.write(agreed(request, 'sec-websocket-extensions: permessage-deflate\r\n')),
      /extension/i,
    ],
    [
      'a subprotocol nobody asked for',
      (socket, request) => socket.write(agreed(request, 'sec-websocket-protocol: x\r\n')),
      /subprotocol/i,
    ],
    [
      'headers without end',
      (socket) => {
        socket.write('HTTP/1.1 101 Go\r\n')
        for (let i = 0; i * 1_000 < 2 * HEADERS_MAX; i++) socket.write(`x${i}: ${'y'.repeat(1_000)}\r\n`)
      },
      /^no connection \(HPE_HEADER_OVERFLOW\)$/,
    ],
  ]
  for (const [what, answer, reason] of rows) {
    const bot = await listen(t, answer)
    const { connection } = await dial(bot.url)
    t.match(connection, { ok: false, reason }, what)
    t.equal(bot.sockets.length, 2, `${what}: asked twice`)
  }
})

t.test('a redirect to another address is not followed', async (t) => {
  const other = await listen(t, (socket, request) => socket.write(agreed(request)))
  const bot = await listen(t, (socket) =>
    socket.end(`HTTP/1.1 302 Found\r\nlocation: ${other.url}\r\ncontent-length: 0\r\n\r\n`),
  )
  t.match((await dial(bot.url)).connection, { ok: false, reason: 'the bot answered 302', status: 302 })
  t.equal(other.sockets.length, 0, 'it was not followed')
})

t.test('a rejection with an endless body is abandoned at once', async (t) => {
  const bot = await listen(t, (socket) => {
    socket.write('HTTP/1.1 403 No\r\ntransfer-encoding: chunked\r\n\r\n')
    socket.write(`8000\r\n${'x'.repeat(0x8000)}\r\n`)
  })
  t.match((await dial(bot.url)).connection, { ok: false, status: 403 })
  const [socket] = bot.sockets
  if (socket !== undefined && !socket.destroyed) await once(socket, 'close')
  t.pass('and nobody reads it')
})

t.test('a trickling response is abandoned after 5 s', async (t) => {
  let trickled: () => void = () => {}
  const begun = new Promise<void>((resolve) => {
    trickled = resolve
  })
  const bot = await listen(t, (socket) => {
    socket.write('HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 101 Go\r\nx: ', () => trickled())
  })
  const clock = new VirtualClock()
  const dialled = dial(bot.url, { clock })
  await begun
  clock.advance(4_999)
  bot.sockets[0]?.write('y')
  clock.advance(1)
  t.match((await dialled).connection, { ok: false, reason: 'the bot did not answer in time' })
  t.equal(bot.sockets.length, 1)
})

t.test('a name that resolves to another address at connect time', async (t) => {
  const bot = await listen(t, (socket, request) => socket.write(agreed(request)))
  const addresses = ['127.0.0.1', '::1', '::ffff:127.0.0.1', '169.254.169.254', 'fe80::1', '64:ff9b::7f00:1']
  for (const address of addresses) {
    const resolve: Resolver = async () => [
      { address: '93.184.215.14', family: 4 },
      { address, family: address.includes(':') ? 6 : 4 },
    ]
    const url = `wss://bot.example.com:${bot.port}/`
    const { connection } = await dial(url, { allowPrivate: false, resolve })
    t.match(connection, { ok: false, reason: /not public/ }, address)
  }
  for (const host of ['[::ffff:127.0.0.1]', '[::ffff:7f00:1]', '0x7f.1', '2130706433', '169.254.169.254']) {
    const { connection } = await dial(`wss://${host}:${bot.port}/`, { allowPrivate: false })
    t.match(connection, { ok: false, reason: 'the address is not public' }, host)
  }
  t.equal(bot.sockets.length, 0, 'nobody was asked')
})

t.test('frames that violate the protocol close the connection, and nothing throws', async (t) => {
  const endless = Buffer.concat([frame(0x01, '{'), ...Array.from({ length: 20_000 }, () => frame(0x00))])
  const rows: readonly [string, Buffer][] = [
    ['compressed, which was not agreed', frame(0xc1, Buffer.from([0x2b, 0x49, 0x2d, 0x2e, 0x01, 0x00]))],
    ['an unknown opcode', frame(0x83, 'x')],
    ['a ping cut in two', frame(0x09, 'x')],
    ['a ping that is too long', frame(0x89, Buffer.alloc(200))],
    ['a length of 2^63', Buffer.concat([Buffer.of(0x82, 127), Buffer.alloc(8, 0xff)])],
    ['a continuation of nothing', frame(0x80, 'x')],
    ['a masked frame', Buffer.of(0x81, 0x81, 1, 2, 3, 4, 5)],
    ['pieces without end', endless],
    ['a close code that does not exist', frame(0x88, Buffer.of(0x03, 0xe7))],
  ]
  for (const [what, bytes] of rows) {
    const { there, ended, faults, texts } = await open(t)
    there.write(bytes)
    t.notOk([1000, 1001, 1005].includes(await ended), what)
    t.strictSame([faults, texts], [[], []])
  }
})

t.test('a message with invalid UTF-8 is handled like any other', async (t) => {
  const { there, texts, ended, faults } = await open(t)
  there.write(frame(0x81, Buffer.from([0x7b, 0xff, 0xfe, 0xc0, 0x80, 0x7d])))
  there.write(frame(0x88, Buffer.from([0x03, 0xe8, 0xff, 0xfe])))
  t.equal(await ended, 1000)
  t.strictSame([texts.length, faults], [1, []])
})

t.test('a stream reset at any time', async (t) => {
  const moments: readonly [string, (line: BotConnection, there: Socket) => void][] = [
    ['open', () => {}],
    ['in the middle of a frame', (_line, there) => there.write(Buffer.of(0x82, 126, 0x10))],
    ['while much waits for it', (line) => line.send(Buffer.alloc(900_000))],
    ['while it is being closed', (line) => line.close(1000)],
  ]
  for (const [when, before] of moments) {
    const { line, there, ended, faults } = await open(t)
    before(line, there)
    there.resetAndDestroy()
    t.equal(await ended, ABNORMAL, when)
    line.send('too late')
    line.close(1000)
    line.terminate()
    t.strictSame(faults, [])
  }
})

t.test('a half-open stream: the bot ends its side and sends nothing', async (t) => {
  const { there, ended } = await open(t)
  there.end()
  t.equal(await ended, ABNORMAL)
})

const settle = () => new Promise<void>((resolve) => systemClock.after(50, resolve))

/** Resolves when the system takes no more of what waits. */
async function stuck(there: Socket): Promise<void> {
  let before = -1
  for (let same = 0; same < 4; await settle()) {
    same = before === there.bytesWritten - there.writableLength ? same + 1 : 0
    before = there.bytesWritten - there.writableLength
  }
}

t.test('a bot that sends thousands of pings and reads no pong is lost', async (t) => {
  const { there, ended, line } = await open(t, new VirtualClock())
  there.pause()
  there.write(Buffer.alloc(32 * 1024 * 1024, frame(0x89, 'x'.repeat(125))))
  const end = await Promise.race([ended, stuck(there).then(() => 'read slowly')])
  t.ok(end === ABNORMAL || line.bufferedBytes <= 1024 * 1024, String(end))
  line.terminate()
  await ended
})

t.test('messages that take long to process are read more slowly', async (t) => {
  // Each look at the clock takes 5 ms.
  let nowMs = 0
  const clock: Clock = {
    now: () => {
      nowMs += 5
      return nowMs
    },
    wall: () => 0,
    after: () => ({ cancel: () => {} }),
  }
  for (const [what, piece] of [
    ['pongs', frame(0x8a)],
    ['pieces of nothing', Buffer.concat([frame(0x01), frame(0x80)])],
  ] as const) {
    const { there, line, ended } = await open(t, clock)
    there.write(Buffer.alloc(32 * 1024 * 1024, piece))
    await stuck(there)
    t.ok(there.writableLength > 0, `not all ${what} are read`)
    line.terminate()
    await ended
  }
})
