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
  const state = { bufferedBytes: 0 }
  const socket = {
    get bufferedBytes() {
      return state.bufferedBytes
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
  return { sender, sent, state, send }
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
