import t from 'tap'
import { tone, toneLevel } from '../../fixtures/audio/tones.js'
import { openAudioSocketBot } from '../../fixtures/bots/audiosocket-bot.js'
import { type BotCall, openBot } from '../../fixtures/bots/bot.js'
import { VirtualClock } from '../../fixtures/host/clock.js'
import { systemClock } from '../base/clock.js'
import { silentLog } from '../base/log.js'
import { openSafeResolver } from '../base/public-address.js'
import { BotEndpoint } from './bot-endpoint.js'
import type { BotEvent, BotStats } from './bot-event.js'
import type { BotSpec } from './bot-spec.js'
import type { TransferUpdate } from './dialects/wire-format.js'

/* Bots that are hostile or careless with messages, on a real socket; time is the test's. */

interface Teardown {
  teardown(run: () => Promise<void> | void): unknown
}

const SAMPLES = 160

function openEnd(t: Teardown, more: Partial<BotSpec> & { readonly url: string }) {
  const clock = new VirtualClock()
  const events: BotEvent[] = []
  const faults: unknown[] = []
  const end = new BotEndpoint({
    id: 'bot',
    spec: {
      type: 'static',
      format: 'mulaw',
      sampleRate: 8000,
      secret: null,
      customParameters: {},
      callId: '0188a5f0-aaaa-4bbb-8ccc-ddddeeeeffff',
      accountId: 'a',
      direction: 'inbound',
      from: '+91',
      to: '+91',
      maxCallSeconds: 60,
      ...more,
    },
    rate: 8000,
    clock,
    log: silentLog,
    lookup: openSafeResolver(true).lookupOf(''),
    allowPrivate: true,
    emit: (event) => events.push(event),
    sendDigits: () => true,
    advancePhase: () => false,
    audioReady: () => {},
    onFault: (error) => faults.push(error),
  })
  t.teardown(() => end.close('hangup'))
  const pcm = new Int16Array(SAMPLES)
  let beats = 0
  const heard: Int16Array[] = []
  return {
    end,
    clock,
    events,
    faults,
    heard,
    /** The beat goes on until `done`, sockets being read between. */
    async until(what: string, done: () => boolean, says: Int16Array = new Int16Array(SAMPLES)) {
      for (const from = systemClock.now(); !done(); ) {
        if (systemClock.now() - from > 20_000) throw new Error(`in vain: ${what}`)
        end.push({ pcm: says, rate: 8000, at: beats * SAMPLES })
        if (end.pull(pcm)) heard.push(pcm.slice())
        beats++
        clock.advance(20)
        await new Promise<void>((resolve) => setImmediate(resolve))
      }
    },
    stats(): BotStats {
      end.close('hangup')
      const found = events.find((event) => event.type === 'bot_stats')
      if (found?.type !== 'bot_stats') throw new Error('no stats')
      return found.stats
    },
  }
}

type Rig = ReturnType<typeof openEnd>

async function live(t: Teardown, more: Partial<BotSpec> = {}): Promise<Rig & { readonly there: BotCall }> {
  const bot = await openBot(t as Parameters<typeof openBot>[0])
  const rig = openEnd(t, { url: bot.url, ...more })
  if (!(await rig.end.connect())) throw new Error('no bot')
  rig.end.start(null)
  return { ...rig, there: await bot.call() }
}

const why = ({ events }: Rig) => events.flatMap((event) => (event.type === 'finished' ? [event.why] : []))

t.test('an unreachable URL ends the call, also an outbound one', async (t) => {
  const rig = openEnd(t, { url: 'ws://127.0.0.1:9/#part', direction: 'outbound' })
  rig.end.start(null)
  await rig.until('the end', () => why(rig).length > 0)
  t.strictSame(why(rig), ['bot_disconnected'])
  t.match(rig.events[0], { type: 'trouble', code: 'bot_unreachable', message: /the request failed/ })
})

t.test('thousands of clears are each answered; far too many end the call with 1008', async (t) => {
  const rig = await live(t)
  for (let i = 0; i < 3_000; i++) rig.there.send('{"event":"clear"}')
  await rig.until('an answer each', () => rig.there.messagesOfType('cleared').length === 3_000)
  t.strictSame(why(rig), [])
  for (let i = 0; i < 60_000; i++) rig.there.send('{"event":"mark"}')
  await rig.until('the end', () => why(rig).length > 0)
  t.strictSame(why(rig), ['bot_disconnected'])
  await rig.until('the code', () => rig.there.closed !== null)
  t.equal(rig.there.closed?.code, 1008)
  t.strictSame(rig.faults, [])
})

t.test('of thousands of transfer requests a hundred are passed on', async (t) => {
  const rig = await live(t)
  const ask = (i: number) =>
    JSON.stringify({
      event: 'transfer',
      id: `t${i}`,
      note: 'n'.repeat(20_000),
      destination: '+1'.repeat(400),
    })
  for (let i = 0; i < 300; i++) rig.there.send(ask(i))
  await rig.until('the refusal', () => rig.there.messagesOfType('error').length > 0)
  t.match(rig.there.messagesOfType('error')[0]?.json, { error: { code: 'rate_limited' } })
  await rig.until('all', () => rig.there.messagesOfType('media').length > 500)
  const asked = rig.events.flatMap((event) => (event.type === 'transfer_requested' ? [event.request] : []))
  t.equal(asked.length, 100)
  t.strictSame([asked[0]?.note?.length, asked[0]?.destination?.length], [4_000, 256], 'of bounded length')
  t.strictSame(why(rig), [])
})

t.test('the bot is notified of the progress of a transfer', async (t) => {
  const rig = await live(t)
  const { there, end } = rig
  const told = () => there.messagesOfType('transfer').map(({ json }) => json.transfer as TransferUpdate)
  const refusals = [
    'destination_not_verified',
    'destination_disabled',
    'outside_hours',
    'destination_not_allowed',
    'attempts_exhausted',
    'transfer_in_progress',
    'not_supported',
    'insufficient_funds',
    'call_ending',
  ]
  end.transferUpdate({ id: 'x', status: 'ringing' })
  there.send({ event: 'transfer', transfer: { id: 'cold', destinationId: 'tdst_1' } })
  await rig.until('it', () => rig.events.length === 1)
  t.match(rig.events[0], { request: { id: 'cold', destinationId: 'tdst_1', handoff: 'cold' } })
  for (const code of refusals) end.transferUpdate({ id: 'cold', status: 'rejected', code, message: 'no' })
  await rig.until('refusals', () => told().length === refusals.length)
  t.strictSame(
    told(),
    refusals.map((code) => ({ id: 'cold', status: 'rejected', code, message: 'no' })),
    'each as it is, and nothing before the bot asked',
  )

  // Warm: the bot does not hear the caller while a person is asked, and hears the caller again when no person
  // accepted.
  there.send({ event: 'transfer', transfer: { id: 'warm', destination: '+911', handoff: 'warm', note: 'n' } })
  await rig.until('it', () => rig.events.length === 2)
  const speech = tone(440, 20)
  const hears = async (): Promise<number> => {
    const before = there.messagesOfType('media').length
    let beats = 0
    await rig.until('some beats', () => ++beats > 30, speech)
    return there.messagesOfType('media').length - before
  }
  end.transferUpdate({ id: 'warm', status: 'accepted' })
  end.transferUpdate({ id: 'other', status: 'rejected', code: 'transfer_in_progress' })
  await hears()
  t.equal(await hears(), 0)
  const decided = () =>
    rig.events.flatMap((event) => (event.type === 'transfer_decided' ? [event.accepted] : []))
  const decide = (id: string, decision: string) =>
    there.send({ event: 'transfer', transfer: { id, decision } })
  const refused = () => there.messagesOfType('error').length
  decide('warm', 'accept')
  await rig.until('an error', () => refused() === 1)
  t.match(there.messagesOfType('error')[0]?.json, { error: { code: 'transfer_failed' } })
  end.transferUpdate({ id: 'warm', status: 'answered', mode: 'consult' })
  await hears()
  t.ok((await hears()) > 20, 'the person')
  decide('other', 'accept')
  decide('warm', 'decline')
  await rig.until('the decision', () => decided().length > 0)
  t.same(decided(), [false], 'of the transfer whose person is there')
  end.transferUpdate({ id: 'warm', status: 'failed', code: 'no_answer' })
  await hears()
  t.ok((await hears()) > 20)
  end.transferUpdate({ id: 'warm', status: 'completed' })
  await rig.until('the end', () => there.closed !== null)
  t.match(there.messagesOfType('stop')[0]?.json, { stop: { reason: 'transferred' } })
  t.equal(there.closed?.code, 1000)
  end.close('hangup')
  t.strictSame(why(rig), [], 'the call goes on without it')
})

t.test('violations that the dialect cannot report are recorded with the call, once', async (t) => {
  const rig = await live(t, { type: 'twilio' })
  for (let i = 0; i < 5; i++) {
    rig.there.send('{"event":"media","media":{"payload":"*!*"}}')
    rig.there.send('not json')
  }
  await rig.until('two notes', () => rig.events.length === 2)
  for (let i = 0; i < 5; i++) rig.there.send('not json')
  rig.there.send({ event: 'mark', mark: { name: 'last' } })
  await rig.until('all of it', () => rig.there.messagesOfType('mark').length === 1)
  t.strictSame(rig.events.map((event) => (event.type === 'trouble' ? event.code : event.type)).sort(), [
    'bad_audio',
    'bad_json',
  ])
  t.equal(rig.stats().errors, 15)
  t.strictSame(rig.there.messagesOfType('error'), [])
})

t.test('a bot that does not read for a while continues; after two missed pings it is lost', async (t) => {
  const rig = await live(t, { format: 'linear16', sampleRate: 24_000 })
  await rig.until('the first', () => rig.there.messagesOfType('media').length > 3)
  rig.there.socket.pause()
  const heard = rig.there.messagesOfType('media').length
  let beats = 0
  // Less than two pings take.
  await rig.until('12 s', () => ++beats > 600, tone(440, 20))
  rig.there.socket.resume()
  await rig.until('it hears', () => rig.there.messagesOfType('media').length > heard)
  t.strictSame(why(rig), [])
  rig.there.socket.pause()
  await rig.until('the end', () => why(rig).length > 0)
  t.strictSame(why(rig), ['bot_disconnected'])
  t.equal(rig.stats().closeCode, 1006)
})

t.test('a call has a maximum duration, and the bot is notified', async (t) => {
  const rig = await live(t)
  await rig.until('the end', () => why(rig).length > 0)
  t.strictSame(why(rig), ['max_duration'])
  rig.end.close('hangup')
  await rig.until('its word', () => rig.there.messagesOfType('stop').length === 1)
  t.match(rig.there.messagesOfType('stop')[0]?.json, { stop: { reason: 'max_duration' } })
})

t.test('the close code of the bot decides the ending', async (t) => {
  for (const [code, ends] of [
    [1000, 'agent_hangup'],
    [1001, 'agent_hangup'],
    [null, 'agent_hangup'],
    [1008, 'bot_disconnected'],
    [1011, 'bot_disconnected'],
    [4000, 'bot_disconnected'],
  ] as const) {
    const rig = await live(t)
    await rig.until('the start', () => rig.there.messagesOfType('media').length > 0)
    if (code === null) rig.there.socket.close()
    else rig.there.socket.close(code)
    await rig.until('the end', () => why(rig).length > 0)
    t.strictSame(why(rig), [ends], `${code}`)
    t.equal(rig.stats().closeCode, code ?? 1005)
  }
})

t.test('a bot that left a token can be dialled again, unless it ended the call itself', async (t) => {
  for (const [code, ends, token] of [
    [1000, 'agent_hangup', 'tok-1'],
    [1001, 'bot_disconnected', 'tok-1'],
    [1012, 'bot_disconnected', 'tok-1'],
    [1001, 'agent_hangup', ''],
  ] as const) {
    const rig = await live(t)
    rig.there.send('{"event":"resume","resume":{"token":"tok-0"}}')
    rig.there.send({ event: 'resume', resume: { token } })
    rig.there.send('{"event":"mark"}')
    await rig.until('the mark', () => rig.there.messagesOfType('mark').length > 0)
    rig.there.socket.close(code)
    await rig.until('the end', () => why(rig).length > 0)
    t.strictSame(why(rig), [ends], `${code}`)
    t.equal(rig.end.resumeToken, token === '' ? null : token)
  }
  const flooding = await live(t)
  flooding.there.send('{"event":"resume","resume":{"token":"tok-2"}}')
  for (let i = 0; i < 60_000; i++) flooding.there.send('{"event":"mark"}')
  await flooding.until('the end', () => why(flooding).length > 0)
  t.equal(flooding.end.resumeToken, null, 'closed for what it sent')
})

t.test('on shutdown, connections close with 1001', async (t) => {
  const rig = await live(t)
  await rig.until('the start', () => rig.there.messagesOfType('media').length > 0)
  rig.end.close('shutdown')
  await rig.until('the code', () => rig.there.closed !== null)
  t.equal(rig.there.closed?.code, 1001)
  t.match(rig.there.messagesOfType('stop')[0]?.json, { stop: { reason: 'shutdown' } })
})

t.test('AudioSocket: frames of all nine rates are played', async (t) => {
  const rates = [8_000, 12_000, 16_000, 24_000, 32_000, 44_100, 48_000, 96_000, 192_000]
  const bot = await openAudioSocketBot(t as Parameters<typeof openAudioSocketBot>[0])
  const url = bot.url
  const rig = openEnd(t, { type: 'audiosocket', format: 'linear16', url })
  t.equal(await rig.end.connect(), true)
  rig.end.start(null)
  const there = await bot.call()
  for (const [i, rate] of rates.entries()) {
    const pcm = tone(700, 300, rate)
    const bytes = Buffer.alloc(pcm.length * 2)
    for (const [at, sample] of pcm.entries()) bytes.writeInt16LE(sample, at * 2)
    const before = rig.heard.length
    for (let at = 0; at < bytes.length; at += 60_000) there.send(0x10 + i, bytes.subarray(at, at + 60_000))
    await rig.until('its sound', () => rig.heard.length >= before + 15)
    let beats = 0
    await rig.until('silence', () => ++beats > 20)
    const frames = rig.heard.slice(before)
    t.ok(frames.length <= 17, `${rate}: ${frames.length} frames`)
    const middle = Int16Array.from(frames.slice(2, 14).flatMap((frame) => [...frame]))
    t.ok(toneLevel(middle, 700) > 0.25, `${rate}: ${toneLevel(middle, 700)}`)
  }
  t.equal(rig.stats().errors, 0)
})
