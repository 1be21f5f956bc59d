import t from 'tap'
import { tone, toneLevel } from '../../fixtures/audio/tones.js'
import { VirtualClock } from '../../fixtures/host/clock.js'
import { silentLog } from '../base/log.js'
import { audioFormatOf, decodeAudio, encodeAudio } from './audio/audio-format.js'
import { BotEndpoint } from './bot-endpoint.js'
import type { BotEvent } from './bot-event.js'
import type { BotFormat, BotRate, BotSpec } from './bot-spec.js'
import { encodeFrame } from './dialects/audiosocket-frames.js'
import type { BotType } from './dialects/registry.js'
import type { BotConnection, BotConnectionEvents } from './transport/bot-connection.js'

/* A bot's media on a virtual clock and a connection in memory: what is sent to it, and what is played of it. */

const SPEC: BotSpec = {
  type: 'plivo',
  url: 'wss://bot.example.com/',
  format: 'mulaw',
  sampleRate: 8000,
  secret: null,
  customParameters: {},
  callId: '0188a5f0-aaaa-4bbb-8ccc-ddddeeeeffff',
  accountId: 'a',
  direction: 'inbound',
  from: '+91',
  to: '+91',
  maxCallSeconds: 3_600,
}

function rig(more: Partial<BotSpec> = {}, connectMs = 0) {
  const clock = new VirtualClock()
  const events: BotEvent[] = []
  const sent: string[] = []
  let told: BotConnectionEvents | null = null
  const connection: BotConnection = {
    bufferedBytes: 0,
    unreadMs: 0,
    open: true,
    send: (message) => sent.push(String(message)),
    close: () => {},
    terminate: () => {},
  }
  const bot = new BotEndpoint({
    id: 'bot',
    spec: { ...SPEC, ...more },
    rate: 8000,
    clock,
    log: silentLog,
    lookup: () => {},
    allowPrivate: true,
    emit: (event) => events.push(event),
    sendDigits: () => true,
    advancePhase: () => false,
    audioReady: () => {},
    onFault: (error) => {
      throw error
    },
    dial: async ({ events }) => {
      told = events
      if (connectMs > 0) {
        await new Promise<void>((resolve) => {
          clock.after(connectMs, resolve)
        })
      }
      events.opened(connection)
      return { ok: true, connection }
    },
  })
  const frame = new Int16Array(160)
  let at = 0
  return {
    bot,
    clock,
    events,
    sent,
    says: (message: object) => told?.text(Buffer.from(JSON.stringify(message))),
    closes: (code: number) => told?.closed(code),
    raw: (data: Buffer, binary = false) => (binary ? told?.binary(Buffer.from(data)) : told?.text(data)),
    /** Passes 20 ms; returns what the caller hears. */
    tick(): Int16Array {
      clock.advance(20)
      bot.push({ pcm: new Int16Array(160), rate: 8000, at })
      at += 160
      return bot.pull(frame) ? frame.slice() : new Int16Array(160)
    },
    media: () => sent.map((text) => JSON.parse(text)).filter(({ event }) => event === 'media'),
  }
}

t.test('timestamps start with the stream, however long the handshake and the ringing took', async (t) => {
  const { bot, clock, media, tick, sent } = rig({}, 3_000)
  const connecting = bot.connect()
  clock.advance(3_000)
  await connecting
  clock.advance(20_000)
  bot.start(null)
  const beginMs = clock.wall()
  tick()
  tick()
  t.match(JSON.parse(sent[0] ?? ''), { event: 'start' })
  t.strictSame(
    media().map(({ media }) => Number(media.timestamp) - beginMs),
    [0, 20],
  )
})

t.test('the content type of each message decides how its audio is decoded', async (t) => {
  const agreed: readonly [BotFormat, BotRate][] = [
    ['mulaw', 8000],
    ['linear16', 8000],
    ['linear16', 16_000],
  ]
  const sends: readonly [string, BotFormat, BotRate][] = [
    ['audio/x-mulaw', 'mulaw', 8000],
    ['audio/x-mulaw', 'mulaw', 16_000],
    ['audio/x-l16', 'linear16', 8000],
    ['audio/x-l16', 'linear16', 16_000],
  ]
  for (const type of ['plivo', 'vobiz']) {
    for (const [format, sampleRate] of agreed) {
      for (const [contentType, encoding, rate] of sends) {
        const { bot, says, tick } = rig({ type, format, sampleRate })
        await bot.connect()
        bot.start(null)
        const sound = audioFormatOf(encoding, rate)
        const pcm = tone(440, 1_000, rate)
        const bytes = Buffer.alloc(pcm.length * (sound?.bytesPerSample ?? 2))
        encodeAudio(encoding, pcm, bytes, 0)
        says({
          event: 'playAudio',
          media: { contentType, sampleRate: rate, payload: bytes.toString('base64') },
        })
        const heard = new Int16Array(160 * 40)
        for (let i = 0; i < 40; i++) heard.set(tick(), i * 160)
        const level = toneLevel(heard.subarray(160 * 10), 440)
        const what = `${contentType} ${rate} on ${type} ${format} ${sampleRate}`
        t.ok(level > 0.28 && level < 0.32, `${what}: ${level}`)
      }
    }
  }
})

/** A chirp from 300 to 3,000 Hz; it is never silent for 20 ms. */
function chirp(ms: number, rate: number): Int16Array {
  return Int16Array.from({ length: (ms * rate) / 1000 }, (_, i) => {
    const s = i / rate
    return Math.round(9_000 * Math.sin(2 * Math.PI * (300 * s + (450 * s * s * 1000) / ms)))
  })
}

t.test('three seconds of a bot that is always ahead come out bit-exact in every dialect', async (t) => {
  const text = (make: (payload: string) => object) => (piece: Buffer) =>
    Buffer.from(JSON.stringify(make(piece.toString('base64'))))
  const media = text((payload) => ({ event: 'media', media: { payload } }))
  const dialects: Readonly<
    Record<BotType, { format: BotFormat; write: (piece: Buffer) => Buffer; binary?: true }>
  > = {
    static: { format: 'mulaw', write: media },
    twilio: { format: 'mulaw', write: media },
    plivo: {
      format: 'mulaw',
      write: text((payload) => ({
        event: 'playAudio',
        media: { contentType: 'audio/x-mulaw', sampleRate: 8000, payload },
      })),
    },
    vobiz: {
      format: 'linear16',
      write: text((payload) => ({
        event: 'playAudio',
        media: { contentType: 'audio/x-l16', sampleRate: 8000, payload },
      })),
    },
    exotel: { format: 'linear16', write: media },
    telnyx: { format: 'alaw', write: media },
    vonage: { format: 'linear16', write: (piece) => piece, binary: true },
    jambonz: { format: 'linear16', write: (piece) => piece, binary: true },
    chan_websocket: { format: 'mulaw', write: (piece) => piece, binary: true },
    chan_websocket_json: { format: 'linear16', write: (piece) => piece, binary: true },
    audiosocket: { format: 'linear16', write: (piece) => encodeFrame(0x10, piece), binary: true },
  }
  for (const [type, { format, write, binary }] of Object.entries(dialects)) {
    for (const pieceMs of [20, 40]) {
      const { bot, raw, tick } = rig({ type, format })
      await bot.connect()
      bot.start(null)
      for (let i = 0; i < 60; i++) tick()
      const sound = audioFormatOf(format, 8000)
      if (sound === null) throw new Error('no such format')
      const said = chirp(3_000, 8000)
      const bytes = Buffer.alloc(said.length * sound.bytesPerSample)
      encodeAudio(format, said, bytes, 0)
      const wanted = new Int16Array(said.length)
      decodeAudio(sound, bytes, 0, said.length, wanted, 0)
      const pieceBytes = pieceMs * 8 * sound.bytesPerSample
      for (let utterance = 0; utterance < 4; utterance++) {
        const heard: number[] = []
        let sentMs = 0
        for (let ms = 0; ms < 3_600; ms += 20) {
          // Two pieces at once at the start, then at the pace of speech.
          while (sentMs < 3_000 && sentMs <= ms + pieceMs && (ms % pieceMs === 0 || sentMs === 0)) {
            const from = (sentMs / pieceMs) * pieceBytes
            raw(write(bytes.subarray(from, from + pieceBytes)), binary)
            sentMs += pieceMs
          }
          heard.push(...tick())
        }
        const from = heard.findIndex((sample) => sample !== 0) - wanted.findIndex((sample) => sample !== 0)
        const wrong = wanted.findIndex((sample, i) => heard[from + i] !== sample)
        t.equal(wrong, -1, `${type}, pieces of ${pieceMs} ms, utterance ${utterance}`)
      }
    }
  }
})

t.test('the close code decides how the call ends, before the stream begins as well as after', async (t) => {
  for (const began of [false, true]) {
    for (const [code, why] of [
      [1000, 'agent_hangup'],
      [1001, 'agent_hangup'],
      [1005, 'agent_hangup'],
      [1006, 'bot_disconnected'],
      [1011, 'bot_disconnected'],
    ] as const) {
      const { bot, closes, events } = rig()
      await bot.connect()
      if (began) bot.start(null)
      closes(code)
      t.match(
        events.filter(({ type }) => type === 'finished'),
        [{ why }],
        `${code}, stream began: ${began}`,
      )
    }
  }
})
