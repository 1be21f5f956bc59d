import { once } from 'node:events'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import t from 'tap'
import { VirtualClock } from '../../../fixtures/host/clock.js'
import { seeded } from '../../../fixtures/host/random.js'
import { settle } from '../../../fixtures/host/settle.js'
import { until } from '../../../fixtures/host/until.js'
import { makeAuthority } from '../../../fixtures/sip/certificates.js'
import { type Clock, systemClock } from '../../base/clock.js'
import { openSafeResolver } from '../../base/public-address.js'
import { Scope } from '../../base/scope.js'
import { audioFormatOf } from '../audio/audio-format.js'
import { CallerAudioSender } from '../audio/caller-audio-sender.js'
import type { BotRate, BotSpec } from '../bot-spec.js'
import { FrameSplitter } from '../dialects/audiosocket-frames.js'
import { openDialect } from '../dialects/registry.js'
import type { WireFormat } from '../dialects/wire-format.js'
import { ABNORMAL, NORMAL } from './bot-connection.js'
import { connectBot } from './connect-bot.js'
import { handshakeOf } from './handshake.js'

const spec = (more: Partial<BotSpec> = {}): BotSpec => ({
  type: 'audiosocket',
  url: 'tcp://127.0.0.1:9/',
  format: 'linear16',
  sampleRate: 8000,
  secret: null,
  customParameters: {},
  callId: '0188a5f0-aaaa-4bbb-8ccc-ddddeeeeffff',
  accountId: 'a',
  direction: 'inbound',
  from: '+919800000001',
  to: '+918000000002',
  maxCallSeconds: 60,
  ...more,
})

const dialectOf = (sampleRate: BotRate = 8000): WireFormat =>
  openDialect({ spec: spec({ sampleRate }), streamId: 's', startedAt: 0 })

t.test('messages are written byte by byte as specified', async (t) => {
  const dialect = dialectOf()
  t.strictSame(dialect.opening(null), [Buffer.from('0100100188a5f0aaaa4bbb8cccddddeeeeffff', 'hex')])
  t.strictSame(dialect.dtmf('#', 160), Buffer.from([3, 0, 1, 0x23]))
  t.strictSame(dialect.stop('caller_hangup'), Buffer.from([0, 0, 0]))
  for (const [rate, head] of [
    [8000, [0x10, 0x01, 0x40]],
    [16_000, [0x12, 0x02, 0x80]],
    [24_000, [0x13, 0x03, 0xc0]],
  ] as const) {
    t.strictSame(dialectOf(rate).audioHeader, Buffer.from(head), `20 ms of ${rate} Hz`)
  }
  const transfer = dialect.transfer({ id: 't', status: 'rejected' })
  const silent = [
    dialect.markAck('m', 'played'),
    dialect.clearAck(1),
    dialect.error('bad_frame', ''),
    transfer,
  ]
  t.strictSame(silent, [null, null, null, null], 'there is nothing else in it')
})

t.test('messages are read', async (t) => {
  const hear = (hex: string) => dialectOf().readBinary?.(Buffer.from(hex, 'hex'))
  const audio = Buffer.from([1, 2, 3, 4])
  t.strictSame(hear('10000401020304'), { type: 'play', audio, rate: 8000, id: null })
  t.strictSame(hear('12000401020304'), { type: 'play', audio, rate: 16_000, id: null }, 'at its own rate')
  t.strictSame(hear('16000401020304'), { type: 'play', audio, rate: 48_000, id: null })
  t.strictSame(hear('000000'), { type: 'hangup', drain: true })
  t.strictSame(hear('03000135'), { type: 'dtmf', keys: '5' })
  t.match(hear('03000178'), { type: 'fault', code: 'bad_frame' }, 'x is no key')
  t.match(hear('ff000104'), { type: 'give_up', message: 'the bot reports an error 4' })
  t.match(hear('ff0000'), { type: 'give_up' })
  for (const ignored of ['020000', '77000201', '01001000000000000000000000000000000000']) {
    t.match(hear(ignored), { type: 'nothing' }, ignored)
  }
})

t.test('frames are complete wherever the stream was split', async (t) => {
  const random = seeded(5)
  const frames = Array.from({ length: 400 }, () => {
    const long = random.next() < 0.02
    const payload = Buffer.alloc(Math.floor(random.next() * (long ? 65_536 : 700)), random.next() * 256)
    const head = Buffer.from([Math.floor(random.next() * 256), payload.length >> 8, payload.length & 255])
    return Buffer.concat([head, payload])
  })
  const stream = Buffer.concat(frames)
  for (const most of [1, 2, 3, 5, 323, 1_460, 65_536, stream.length]) {
    const splitter = new FrameSplitter()
    let count = 0
    let wrong = 0
    let counted = 0
    for (let at = 0; at < stream.length; ) {
      const size = most < 4 ? most : 1 + Math.floor(random.next() * most)
      counted += splitter.split(Buffer.from(stream.subarray(at, at + size)), (frame) => {
        if (!frame.equals(frames[count++] as Buffer)) wrong++
      })
      at += size
    }
    t.strictSame([count, counted, wrong], [frames.length, frames.length, 0], `pieces of up to ${most} bytes`)
  }
})

interface Teardown {
  teardown(run: () => Promise<void>): unknown
}

interface Listening {
  readonly url: string
  socket(): Promise<Socket>
}

async function listen(t: Teardown, server: Server, scheme = 'tcp'): Promise<Listening> {
  const sockets: Socket[] = []
  server.on('connection', (socket: Socket) => {
    sockets.push(socket)
    socket.on('error', () => {}) // a broken line is what some tests are about
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(async () => {
    for (const socket of sockets) socket.destroy()
    server.close()
    await once(server, 'close')
  })
  return {
    url: `${scheme}://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async socket() {
      if (sockets.length === 0) await once(server, 'connection')
      return sockets[0] as Socket
    },
  }
}

async function dial(url: string, more: { allowPrivate?: boolean; clock?: Clock } = {}) {
  const { allowPrivate = true, clock = systemClock } = more
  const frames: Buffer[] = []
  let closed: (code: number) => void = () => {}
  const ended = new Promise<number>((resolve) => {
    closed = resolve
  })
  const connection = await connectBot(
    {
      handshake: handshakeOf(spec({ url }), 'nonce'),
      clock,
      lookup: openSafeResolver(allowPrivate).lookupOf(''),
      allowPrivate,
      events: {
        opened: () => {},
        text: () => {
          throw new Error('there is no text')
        },
        binary: (frame) => frames.push(frame),
        closed,
        internalError: (error) => {
          throw error
        },
      },
    },
    new Scope(),
  )
  return { connection, frames, ended }
}

/** A line that is open, and its other end. */
async function open(t: Teardown, clock?: Clock, server = createServer()) {
  const bot = await listen(t, server)
  const dialled = await dial(bot.url, clock === undefined ? {} : { clock })
  if (!dialled.connection.ok) throw new Error(dialled.connection.reason)
  return { ...dialled, line: dialled.connection.connection, there: await bot.socket() }
}

t.test('only encrypted public addresses, unless the operator allows others', async (t) => {
  const bot = await listen(t, createServer())
  let asked = 0
  void bot.socket().then(() => asked++)
  for (const url of [
    bot.url,
    bot.url.replace('tcp:', 'tls:'),
    'tls://[::1]:9',
    'tls://localhost:9',
    'wss://1.1.1.1/',
  ]) {
    t.equal((await dial(url, { allowPrivate: false })).connection.ok, false, url)
  }
  t.equal(asked, 0, 'and nobody was even asked')
  t.match((await dial('tcp://127.0.0.1:9')).connection, { ok: false, reason: 'no connection (ECONNREFUSED)' })
})

t.test('the TLS certificate is verified', async (t) => {
  const { certificate, key } = makeAuthority(t).issue('IP:127.0.0.1')
  const server = createTlsServer({ cert: certificate, key })
  server.on('tlsClientError', () => {}) // what it is about
  const bot = await listen(t, server, 'tls')
  t.match((await dial(bot.url)).connection, {
    ok: false,
    reason: /^no connection \(.*(CERT|SIGNATURE|ISSUER)/,
  })
})

t.test('a server that never completes the handshake is abandoned after 5 s', async (t) => {
  const bot = await listen(t, createServer(), 'tls')
  const clock = new VirtualClock()
  const dialled = dial(bot.url, { clock })
  await bot.socket()
  clock.advance(5_000)
  t.match((await dialled).connection, { ok: false, reason: 'the bot did not answer in time' })
})

t.test('a stream that ends without a hang-up frame was lost; with one it ended', async (t) => {
  const lost = await open(t)
  lost.there.end(Buffer.from([0x10, 0, 2, 1, 1]))
  t.equal(await lost.ended, ABNORMAL)
  t.equal(lost.frames.length, 1)
  const reset = await open(t)
  reset.there.resetAndDestroy()
  t.equal(await reset.ended, ABNORMAL)
  const polite = await open(t)
  polite.there.end(Buffer.from([0, 0, 0, 0x10, 0, 2, 1, 1]))
  t.equal(await polite.ended, NORMAL)
  t.strictSame(polite.frames, [Buffer.alloc(3)], 'and nothing counts behind it')
})

t.test('on local close pending data arrives, and the peer has a second', async (t) => {
  const { line, there, ended } = await open(t)
  const heard: Buffer[] = []
  there.on('data', (chunk) => heard.push(chunk))
  line.send(Buffer.from([0, 0, 0]))
  line.close(NORMAL)
  line.close(NORMAL)
  line.send(Buffer.from([0x77, 0, 0]))
  await once(there, 'end')
  t.equal(Buffer.concat(heard).toString('hex'), '000000')
  t.equal(await ended, NORMAL)

  const clock = new VirtualClock()
  const stubborn = createServer({ allowHalfOpen: true })
  const bot = await listen(t, stubborn)
  const dialled = await dial(bot.url, { clock })
  if (!dialled.connection.ok) throw new Error(dialled.connection.reason)
  const gone = once(await bot.socket(), 'end')
  dialled.connection.connection.close(NORMAL)
  await gone
  clock.advance(1_000)
  await dialled.ended
})

t.test('a bot that reads nothing of the pending data is lost at the third check', async (t) => {
  const clock = new VirtualClock()
  const { line, there, ended } = await open(t, clock)
  there.pause()
  const piece = Buffer.alloc(64 * 1024)
  while (line.bufferedBytes === 0) line.send(piece)
  const settle = () => new Promise<void>((resolve) => systemClock.after(20, resolve))
  // The system goes on taking some for a moment.
  for (let before = -1; before !== line.bufferedBytes; await settle()) before = line.bufferedBytes
  if (line.bufferedBytes === 0) line.send(piece)
  clock.advance(15_000)
  clock.advance(15_000)
  t.equal(line.open, true)
  clock.advance(15_000)
  t.equal(await ended, ABNORMAL)
})

const linux = process.platform === 'linux'

t.test('a bot that stops reading loses the oldest audio', { skip: !linux }, async (t) => {
  const clock = new VirtualClock()
  // The bot's own program buffers next to nothing.
  const { line, there } = await open(t, clock, createServer({ highWaterMark: 1 }))
  const format = audioFormatOf('linear16', 8000)
  if (format === null) throw new Error('no such format')
  const sender = new CallerAudioSender(dialectOf(), format, 8000)
  const heard: number[] = []
  const splitter = new FrameSplitter()
  there.on('data', (chunk) => splitter.split(chunk, (frame) => heard.push(frame.readInt16LE(3))))
  // Every timer is set again once the queues were read.
  const timers = clock.pending
  let spoken = 0
  const speak = async (frames: number) => {
    for (const end = spoken + frames; spoken < end; spoken++) {
      sender.send({ pcm: new Int16Array(160).fill(spoken), rate: 8000, at: spoken * 160 }, line)
      clock.advance(20)
      await until(() => clock.pending === timers)
    }
  }
  while (spoken < 20) {
    await speak(1)
    await until(() => heard.length === spoken)
  }
  there.pause()
  await speak(200)
  t.equal(heard.length, 20)
  there.resume()
  // The bot reads what the sockets hold, which the next reading of the queues shows.
  while (line.unreadMs > 0) {
    await speak(1)
    await settle()
  }
  await speak(1)
  await until(() => heard.at(-1) === spoken - 1)
  const gapAt = heard.findIndex((frame, i) => frame !== i)
  const gap = sender.droppedMs / 20
  t.strictSame(
    heard,
    Array.from({ length: spoken - gap }, (_, i) => (i < gapAt ? i : i + gap)),
    'one gap: the oldest beyond what the sockets hold',
  )
  const old = 200 - gap
  t.ok(old > 0 && old <= 65, `${old} of 200 frames were delivered late`)
  line.terminate()
})

t.test('a flood is read at a limited multiple of real time', async (t) => {
  const clock = new VirtualClock()
  const { line, there, frames } = await open(t, clock)
  // Frames of nothing are the dearest by the byte.
  const flood = Buffer.alloc(3 * 1024 * 1024, Buffer.from([0x77, 0, 0]))
  there.write(flood)
  const settle = () => new Promise<void>((resolve) => systemClock.after(100, resolve))
  for (let before = -1; frames.length === 0 || before !== frames.length; await settle())
    before = frames.length
  t.ok(frames.length < 200_000, `${frames.length} of a million frames while no time passed`)
  const before = frames.length
  clock.advance(2_000)
  while (frames.length === before) await settle()
  line.terminate()
})
