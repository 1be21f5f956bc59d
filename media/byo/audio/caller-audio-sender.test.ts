import t from 'tap'
import type { BotSpec } from '../bot-spec.js'
import { openDialect } from '../dialects/registry.js'
import type { WireFormat } from '../dialects/wire-format.js'
import type { BotConnection } from '../transport/bot-connection.js'
import { audioFormatOf } from './audio-format.js'
import { CallerAudioSender } from './caller-audio-sender.js'

const SPEC: BotSpec = {
  type: 'static',
  url: 'wss://bot.example.com/',
  format: 'mulaw',
  sampleRate: 8000,
  secret: null,
  customParameters: {},
  callId: 'c',
  accountId: 'a',
  direction: 'inbound',
  from: '+91',
  to: '+91',
  maxCallSeconds: 60,
}

function rig(more: Partial<BotSpec> = {}) {
  const spec = { ...SPEC, ...more }
  const dialect: WireFormat = openDialect({ spec, streamId: 's', startedAt: 0 })
  const format = audioFormatOf(spec.format, spec.sampleRate)
  if (format === null) throw new Error('no such format')
  const sender = new CallerAudioSender(dialect, format, 8000)
  const sent: (string | Buffer)[] = []
  const state = { bufferedBytes: 0, unreadMs: 0 }
  const socket = {
    get bufferedBytes() {
      return state.bufferedBytes
    },
    get unreadMs() {
      return state.unreadMs
    },
    send: (message: string | Buffer) =>
      sent.push(typeof message === 'string' ? message : Buffer.from(message)),
  } as unknown as BotConnection
  let frames = 0
  const send = (count: number) => {
    for (let i = 0; i < count; i++, frames++) {
      sender.send({ pcm: new Int16Array(160).fill(frames * 8), rate: 8000, at: frames * 160 }, socket)
    }
  }
  const sendAt = (at: number, value: number) =>
    sender.send({ pcm: new Int16Array(160).fill(value), rate: 8000, at }, socket)
  return { sender, sent, state, send, sendAt }
}

const stamp = (message: string | Buffer | undefined) => JSON.parse(String(message)).media.timestamp as string

t.test('a frame is sent as one message, as five, or as raw samples', async (t) => {
  const single = rig()
  single.send(3)
  t.strictSame(single.sent.map(stamp), ['0', '20', '40'])
  const five = rig({ type: 'exotel', format: 'linear16' })
  five.send(14)
  t.strictSame(five.sent.map(stamp), ['0', '100'])
  t.equal(Buffer.from(JSON.parse(String(five.sent[0])).media.payload, 'base64').length, 1600)
  const raw = rig({ type: 'vonage', format: 'linear16' })
  raw.send(2)
  t.strictSame(
    raw.sent.map((message) => (message as Buffer).readInt16LE(2)),
    [0, 8],
  )
  const wide = rig({ type: 'vonage', format: 'linear16', sampleRate: 16_000 })
  wide.send(2)
  t.strictSame(
    wide.sent.map(({ length }) => length),
    [640, 640],
  )
})

t.test('a bot that does not read loses audio older than a second, then continues in order', async (t) => {
  const { sender, sent, state, send } = rig()
  send(1)
  state.bufferedBytes = 1_000_000
  send(100)
  t.equal(sent.length, 1)
  t.equal(sender.droppedMs, 100 * 20 - 760, '38 messages are held')
  state.bufferedBytes = 0
  send(1)
  t.equal(sent.length, 1 + 38 + 1)
  const stamps = sent.map(stamp).map(Number)
  t.equal(stamps[1], 63 * 20, 'the oldest that was kept')
  t.strictSame(
    stamps.slice(1).map((at) => at - (stamps[1] ?? 0)),
    Array.from({ length: 39 }, (_, i) => i * 20),
  )
  t.equal(sender.acceptedMs, 102 * 20)
})

t.test('a bot that confirms nothing is given nothing more, and continues in order', async (t) => {
  const { sender, sent, state, send } = rig()
  send(1)
  state.unreadMs = 200
  send(10)
  t.equal(sent.length, 1)
  state.unreadMs = 100
  send(1)
  t.strictSame(
    sent.map(stamp).map(Number),
    Array.from({ length: 12 }, (_, i) => i * 20),
  )
  t.equal(sender.droppedMs, 0)
})

t.test("the time line follows the caller's over an hour of gaps", async (t) => {
  for (const type of ['static', 'exotel']) {
    const { sender, sendAt } = rig({ type, format: 'linear16' })
    let at = 0
    for (let i = 0; i < 3_600; i++) {
      // 600 ms of speech, then a gap that is no multiple of a frame.
      for (let frame = 0; frame < 30; frame++, at += 160) sendAt(at, 500)
      at += 3_200 - 37 * (i % 9)
      const behindMs = at / 8 - sender.acceptedMs
      if (behindMs < 0 || behindMs > 400 + 20) t.fail(`${type}: ${behindMs} ms behind after gap ${i}`)
    }
    sendAt(at, 500)
    t.ok(Math.abs(at / 8 + 20 - sender.acceptedMs) < 20, `${type}: ${at / 8 + 20 - sender.acceptedMs} ms`)
  }
})

t.test(
  'silence that repeats a part of the time line is not sent, and a long gap is not filled',
  async (t) => {
    const { sender, sent, sendAt } = rig()
    sendAt(0, 500)
    sendAt(160, 500)
    sendAt(0, 0)
    sendAt(160, 0)
    sendAt(320, 500)
    t.strictSame(sent.map(stamp), ['0', '20', '40'])
    sendAt(320 + 160 + 8 * 5_000, 500)
    t.equal(sent.length, 4)
    t.equal(stamp(sent[3]), '5060')
    t.equal(sender.acceptedMs, 5_080)
  },
)
