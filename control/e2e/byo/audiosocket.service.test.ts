import t from 'tap'
import { decodeG711, encodeG711 } from '../../../fixtures/audio/g711.js'
import { levelDbfs, tone } from '../../../fixtures/audio/tones.js'
import {
  type AudioSocketBot,
  type AudioSocketCall,
  openAudioSocketBot,
} from '../../../fixtures/bots/audiosocket-bot.js'
import { encodeFor } from '../../../fixtures/bots/bot-messages.js'
import { openByoService } from '../../../fixtures/bots/byo-service.js'
import { seeded } from '../../../fixtures/host/random.js'
import { type Caller, type CallerTest, call } from '../../../fixtures/service/caller.js'

/*
 * Asterisk's AudioSocket in calls of the whole service: the list of types.service.test.ts, as far as it
 * applies to a protocol without marks, clear and text. Real SIP and RTP on one side, a real TCP stream on the
 * other.
 */

const service = await openByoService(t)
t.jobs = 4

const HANG_UP = 0x00
const UUID = 0x01
const KEY = 0x03
const SOUND = 0x10
const SOUND_16K = 0x12
const ERROR = 0xff
const DTMF = 101

interface Line {
  readonly caller: Caller
  readonly there: AudioSocketCall
  readonly callId: string
}

async function ring(t: CallerTest, bot: AudioSocketBot, to: string): Promise<Line> {
  const index = bot.calls.length
  const caller = await call(t, service, { to, rtp: { codec: 'PCMU' } })
  await caller.answered()
  const there = await bot.call(index)
  await there.until('the first frames', () => there.frames.length >= 4)
  return { caller, there, callId: await caller.callId() }
}

async function route(t: CallerTest, more: object = {}) {
  const bot = await openAudioSocketBot(t)
  const { e164 } = await service.routed({ type: 'audiosocket', url: bot.url, ...more })
  return { bot, e164 }
}

/** Returns the received audio packets from `from` on that contain the tone. */
function packetsOf({ caller }: Line, hz: number, from = 0) {
  const [first] = caller.rtp.audio().slice(from)
  const held = caller.rtp.holding(hz)
  return from === 0
    ? held
    : held.filter(({ sequence }) => first !== undefined && (sequence - first.sequence) << 16 >= 0)
}

/** Options of a test that runs in parallel; each test needs its own object. */
const beside = () => ({ buffered: true, timeout: 150_000 })
const sound = (hz: number, ms: number, rate = 8000) => encodeFor('linear16', tone(hz, ms, rate))

t.test('a call', beside(), async (t) => {
  const { bot, e164 } = await route(t)
  const line = await ring(t, bot, e164)
  const { caller, there, callId } = line

  // (a) There is no authorization: the call's id comes first, then only audio.
  const [first, ...rest] = there.frames
  t.equal(first?.kind, UUID)
  t.match(first?.payload.toString('hex'), /^[0-9a-f]{32}$/)
  t.ok(rest.every(({ kind, payload }) => kind === SOUND && payload.length === 320))

  // (b) The caller's audio, bit by bit.
  const random = seeded(7)
  const noise = Int16Array.from({ length: 3_200 }, () => Math.round((random.next() - 0.5) * 8000))
  const said = decodeG711('PCMU', encodeG711('PCMU', noise))
  const exact = encodeFor('linear16', said)
  const heard = () => Buffer.concat(there.payloadsOfKind(SOUND))
  for (let tries = 0; tries < 3 && !heard().includes(exact); tries++) {
    await caller.rtp.say(said).done
    const had = heard().length
    await there.until('the end of it', () => heard().length > had + exact.length / 2)
  }
  t.ok(heard().includes(exact), 'what was said arrived as it was')

  // (c), (j) A burst in frames of any length, with the stream cut anywhere, arrives in order and whole.
  const burst = Buffer.concat([600, 900, 1200].map((hz) => sound(hz, 200)))
  const before = caller.rtp.audio().length
  const frames: Buffer[] = []
  for (let from = 0, piece = 1; from < burst.length; piece = piece * 3 + 4) {
    const part = burst.subarray(from, from + piece)
    frames.push(Buffer.from([SOUND, part.length >> 8, part.length & 0xff]), part)
    from += piece
  }
  const stream = Buffer.concat(frames)
  there.socket.setNoDelay(true)
  // Audio to play while the pieces arrive, so that a stalled host causes no gap.
  there.send(SOUND, sound(500, 200))
  for (let at = 0; at < stream.length; at += 1_001) there.socket.write(stream.subarray(at, at + 1_001))
  await caller.until('the burst', () => packetsOf(line, 1200, before).length >= 9)
  const audio = caller.rtp.audio().slice(before)
  const loud = audio.filter(({ payload }) => levelDbfs(decodeG711('PCMU', payload)) > -40)
  const [from, to] = [loud[0]?.timestamp ?? 0, loud.at(-1)?.timestamp ?? 0]
  t.ok(loud.length >= 39 && loud.length <= 43, `800 ms are ${loud.length} packets`)
  const between = audio.filter(({ timestamp }) => timestamp >= from && timestamp <= to)
  t.equal(between.length, loud.length, 'no silence in it')
  const order = [500, 600, 900, 1200].map((hz) => packetsOf(line, hz, before)[0]?.sequence ?? 0)
  const inOrder = [...order].sort((a, b) => ((a - b) << 16) >> 16)
  t.strictSame(order, inOrder, 'in order')

  // (d), (e) There are no marks and no clear: a bot that stops sending is silent.
  const quiet = caller.rtp.audio().length
  await caller.until('silence', () => caller.rtp.audio().length >= quiet + 15)
  t.equal(packetsOf(line, 1200, quiet + 5).length, 0)

  // (f) DTMF in both directions.
  caller.rtp.press('5#')
  await there.until('two keys', () => there.payloadsOfKind(KEY).length === 2)
  t.equal(Buffer.concat(there.payloadsOfKind(KEY)).toString(), '5#')
  for (const key of '12') there.send(KEY, Buffer.from(key))
  const events = () => caller.rtp.received.filter(({ payloadType, marker }) => payloadType === DTMF && marker)
  await caller.until('two keys', () => events().length === 2)
  t.strictSame(
    events().map(({ payload }) => payload[0]),
    [1, 2],
  )

  // (k) Everything a bot may send.
  there.send(0x77, Buffer.alloc(65_535, 1))
  there.send(UUID, Buffer.alloc(3))
  there.send(KEY, Buffer.from('junk'))
  there.send(0x02)
  there.send(SOUND)
  there.send(0x11, Buffer.alloc(480))
  // A frame type of newer bots, at a rate that was not agreed.
  there.send(SOUND_16K, sound(700, 300, 16_000))
  await caller.until('it is played all the same', () => packetsOf(line, 700).length >= 9)

  // (g) A hang-up waits for the last words.
  there.send(SOUND, sound(1100, 400))
  there.send(HANG_UP)
  await caller.dialog.ended()
  t.equal(caller.dialog.endedBy, 'remote')
  t.ok(packetsOf(line, 1100).length >= 18, 'the last words were played')
  t.match(await service.ended(callId), { disposition: 'answered', endedReason: 'agent_hangup' })
  await there.until('the end', () => there.closed !== null)
  t.equal(there.payloadsOfKind(HANG_UP).length, 1, 'and it is told')
  t.match(service.of(callId, 'bot_stats'), [{ stats: { closeCode: null } }])
})

t.test('the caller hangs up', beside(), async (t) => {
  const { bot, e164 } = await route(t)
  const { caller, there, callId } = await ring(t, bot, e164)
  await caller.hangUp()
  await there.until('the end', () => there.closed !== null)
  t.equal(there.frames.at(-1)?.kind, HANG_UP, 'the last frame says so')
  t.match(await service.ended(callId), { endedReason: 'caller_hangup' })
})

t.test('the queued audio of a bot that hangs up and closes at once is played', beside(), async (t) => {
  const { bot, e164 } = await route(t)
  const line = await ring(t, bot, e164)
  line.there.send(SOUND, sound(1000, 300))
  line.there.send(HANG_UP)
  line.there.socket.end()
  await line.caller.dialog.ended()
  t.ok(packetsOf(line, 1000).length >= 13, 'the last words were played')
  t.match(await service.ended(line.callId), { endedReason: 'agent_hangup' })
})

t.test('a stream that ends without a hang-up counts as lost', beside(), async (t) => {
  const { bot, e164 } = await route(t)
  for (const how of ['end', 'reset', 'error'] as const) {
    const { caller, there, callId } = await ring(t, bot, e164)
    if (how === 'end') there.socket.end()
    else if (how === 'reset') there.socket.resetAndDestroy()
    else there.send(ERROR, Buffer.of(4))
    await caller.dialog.ended()
    t.match(await service.ended(callId), { disposition: 'answered', endedReason: 'bot_disconnected' }, how)
    if (how === 'error') {
      t.match(service.of(callId, 'trouble'), [{ code: 'bot_disconnected', message: /error 4/ }])
    }
  }
})

t.test('an unreachable bot: the call is never answered', beside(), async (t) => {
  const { e164 } = await service.routed({ type: 'audiosocket', url: 'tcp://127.0.0.1:9' })
  const caller = await call(t, service, { to: e164, rtp: { codec: 'PCMU' } })
  t.equal(await caller.dialog.final(), 480)
  t.match(await service.ended(await caller.callId()), { endedReason: 'bot_disconnected', billedPaise: 0 })
})

t.test('at 16 kHz, more audio than the queue holds, and a bot that does not read', beside(), async (t) => {
  const { bot, e164 } = await route(t, { sampleRate: 16_000 })
  const line = await ring(t, bot, e164)
  const { caller, there, callId } = line
  t.ok(there.frames.slice(1).every(({ kind, payload }) => kind === SOUND_16K && payload.length === 640))
  there.socket.pause()
  const frame = Buffer.alloc(64_000)
  // 10 s more than the queue holds.
  for (let i = 0; i < 155; i++) there.send(SOUND_16K, frame)
  const before = caller.rtp.audio().length
  await caller.until('a second', () => caller.rtp.audio().length >= before + 50)
  there.socket.resume()
  const heard = there.payloadsOfKind(SOUND_16K).length
  await there.until('it hears again', () => there.payloadsOfKind(SOUND_16K).length > heard + 10)
  await caller.hangUp()
  t.match(await service.ended(callId), { endedReason: 'caller_hangup' })
  const [stats] = service.of(callId, 'bot_stats')
  t.ok((stats?.stats.droppedOutMs ?? 0) >= 6_000, `${stats?.stats.droppedOutMs} ms were too much`)
})
