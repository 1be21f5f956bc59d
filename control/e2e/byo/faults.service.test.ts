import t from 'tap'
import { decodeG711 } from '../../../fixtures/audio/g711.js'
import { levelDbfs, tone } from '../../../fixtures/audio/tones.js'
import { type BotCall, openBot } from '../../../fixtures/bots/bot.js'
import { openByoService } from '../../../fixtures/bots/byo-service.js'
import { call } from '../../../fixtures/service/caller.js'
import type { Json } from '../../../fixtures/service/service.js'

/*
 * Misbehaving bots: their own call ends or continues as specified, and no other call is affected.
 */

const service = await openByoService(t)
t.jobs = 3
const beside = () => ({ buffered: true, timeout: 150_000 })

const native = (url: string) => ({ type: 'static', format: 'mulaw', sampleRate: 8000, url })

const echo = (call: BotCall, json: Json | null) => {
  if (json?.event === 'media') call.send({ event: 'media', media: { payload: (json.media as Json).payload } })
}

t.test('a bot that rejects or is unreachable: the call is never answered', beside(), async (t) => {
  const refused = await openBot(t, { refuse: () => 401 })
  const gone = { url: 'ws://127.0.0.1:9/' }
  for (const [what, { url }, error] of [
    ['401', refused, 'the bot answered 401'],
    ['nobody', gone, 'no connection (ECONNREFUSED)'],
  ] as const) {
    const { e164 } = await service.routed(native(url))
    const caller = await call(t, service, { to: e164, rtp: { codec: 'PCMU' } })
    t.equal(await caller.dialog.final(), 480, what)
    const callId = await caller.callId()
    const ended = await service.ended(callId)
    t.match(ended, { disposition: 'failed', endedReason: 'bot_disconnected', billedPaise: 0, error })
    t.match(service.of(callId, 'trouble'), [{ part: 'bot', code: 'bot_unreachable' }])
  }
})

t.test('a bot that closes right after the upgrade: the record agrees with SIP', beside(), async (t) => {
  for (const [code, endedReason] of [
    [1000, 'agent_hangup'],
    [1011, 'bot_disconnected'],
  ] as const) {
    const bot = await openBot(t, { onCall: ({ socket }) => socket.close(code) })
    const { e164 } = await service.routed(native(bot.url))
    const caller = await call(t, service, { to: e164, rtp: { codec: 'PCMU' } })
    const status = await caller.dialog.final()
    const ended = await service.ended(await caller.callId())
    t.match(ended, { endedReason, disposition: status === 200 ? 'answered' : 'failed' })
    t.equal(ended.answeredAt !== null, status === 200, `inbound ${code}: ${status}`)
    const { id } = await service.routed(native(bot.url))
    const outbound = await service.ended(await service.call('+919000000055', { numberId: id }))
    t.match(outbound, { endedReason, disposition: 'answered', answeredAt: String })
  }
})

t.test('a flood beside a conversation', beside(), async (t) => {
  const good = await openBot(t, { onMessage: (call, { json }) => echo(call, json) })
  const bad = await openBot(t)
  const [quiet, loud] = await Promise.all([service.routed(native(good.url)), service.routed(native(bad.url))])
  const victim = await call(t, service, {
    to: quiet.e164,
    rtp: { codec: 'PCMU', background: tone(440, 1000) },
  })
  await victim.answered()
  const flooder = await call(t, service, { to: loud.e164, rtp: { codec: 'PCMU' } })
  await flooder.answered()
  const there = await bad.call()
  await victim.until('an echo', () => victim.rtp.loud().length > 10)

  const minute = Buffer.alloc(8000 * 60, 0x20).toString('base64')
  for (let i = 0; i < 7; i++) there.send({ event: 'media', media: { payload: minute } })
  for (let i = 0; i < 3_000; i++) there.send('{"event":"junk"}')
  for (let i = 0; i < 12_000; i++) there.send({ event: 'mark', mark: { name: 'm' } })
  const before = victim.rtp.audio().length
  // How long the echo takes says nothing: both bots run in the process of the test, which is busy with the flood.
  let loudOnes = 0
  let looked = before
  await victim.until('three seconds of echo in the other call', () => {
    const heard = victim.rtp.audio()
    loudOnes += heard.slice(looked).filter(({ payload }) => levelOf(payload) > -45).length
    looked = heard.length
    return loudOnes >= 150
  })
  const sequences = victim.rtp
    .audio()
    .slice(before)
    .map(({ sequence }) => sequence)
  t.equal(
    (((sequences.at(-1) ?? 0) - (sequences[0] ?? 0)) & 0xffff) + 1,
    sequences.length,
    'no packet is missing',
  )

  t.equal(there.closed, null, 'too much is no reason to hang up')
  await there.until('the errors', () => there.messagesOfType('error').length >= 1)
  there.send({ event: 'clear' })
  await there.until('what was dropped', () => there.messagesOfType('cleared').length === 1)
  const cleared = there.messagesOfType('cleared')[0]?.json.cleared as { droppedMs: number } | undefined
  const droppedMs = cleared?.droppedMs ?? 0
  t.ok(droppedMs > 200_000 && droppedMs <= 300_000, `${droppedMs} ms were waiting`)
  const callId = await flooder.callId()
  await flooder.hangUp()
  await service.ended(callId)
  const [stats] = service.of(callId, 'bot_stats')
  t.ok((stats?.stats.droppedOutMs ?? 0) >= 60_000, 'and the rest was counted')
  const otherId = await victim.callId()
  await victim.hangUp()
  await service.ended(otherId)
  const [other] = service.of(otherId, 'bot_stats')
  t.match(other?.stats, { droppedOutMs: 0, errors: 0 }, 'nothing of the other call was dropped')
})

t.test('an oversized message ends the call', beside(), async (t) => {
  const bot = await openBot(t)
  const { e164 } = await service.routed(native(bot.url))
  const caller = await call(t, service, { to: e164, rtp: { codec: 'PCMU' } })
  await caller.answered()
  const there = await bot.call()
  there.send('x'.repeat(5 * 1024 * 1024))
  await caller.dialog.ended()
  t.match(await service.ended(await caller.callId()), { endedReason: 'bot_disconnected' })
  t.equal(there.closed?.code, 1009)
})

t.test('a silent bot: the call stays up', beside(), async (t) => {
  const bot = await openBot(t)
  const { e164 } = await service.routed(native(bot.url))
  const caller = await call(t, service, { to: e164, rtp: { codec: 'PCMU' } })
  await caller.answered()
  await caller.until('a second and a half of silence', () => caller.rtp.audio().length >= 75)
  t.equal(caller.rtp.loud().length, 0)
  const there = await bot.call()
  await there.until('as much of the caller', () => there.messagesOfType('media').length >= 70)
  const callId = await caller.callId()
  await caller.hangUp()
  t.match(await service.ended(callId), { endedReason: 'caller_hangup', latency: null })
})

t.test('a slow bot, and its reported latency', beside(), async (t) => {
  const bot = await openBot(t)
  const { e164 } = await service.routed(native(bot.url))
  const caller = await call(t, service, { to: e164, rtp: { codec: 'PCMU' } })
  await caller.answered()
  const there = await bot.call()
  await caller.rtp.say(tone(440, 400)).done
  await caller.until('a pause', () => caller.rtp.audio().length >= 50)
  there.send({ event: 'media', media: { payload: Buffer.alloc(1600, 0x20).toString('base64') } })
  await caller.until('the answer', () => caller.rtp.loud().length >= 8)
  const callId = await caller.callId()
  await caller.hangUp()
  const { latency } = await service.ended(callId)
  const [stats] = service.of(callId, 'bot_stats')
  t.equal(stats?.stats.replyMs.length, 1)
  t.match(latency, { turnP50Ms: stats?.stats.replyMs[0], firstAudioMs: stats?.stats.firstAudioMs })
})

t.test('an outbound call: the bot is connected when the callee answers', beside(), async (t) => {
  const bot = await openBot(t, { onMessage: (call, { json }) => echo(call, json) })
  const { id } = await service.routed({ ...native(bot.url), customParameters: { plan: 'gold' } })
  const callId = await service.call('+919000000055', { numberId: id, variables: { name: 'Asha' } })
  const there = await bot.call()
  await there.until('sound', () => there.messagesOfType('media').length > 5)
  t.match(there.messagesOfType('start')[0]?.json, {
    start: { direction: 'outbound', to: '+919000000055', customParameters: { plan: 'gold', name: 'Asha' } },
  })
  t.equal(service.of(callId, 'answered').length, 1)
  await service.api('POST', `/v1/calls/${callId}/hangup`)
  t.match(await service.ended(callId), { endedReason: 'api_hangup', routingMode: 'byo_ws' })
  await there.until('the end', () => there.closed !== null)
  t.match(there.messagesOfType('stop')[0]?.json, { stop: { reason: 'bot_hangup' } })

  const unanswered = await service.call('+919000000003', { numberId: id })
  await service.until('ringing', () => service.of(unanswered, 'ringing').length > 0)
  await service.api('POST', `/v1/calls/${unanswered}/hangup`)
  await service.ended(unanswered)
  t.equal(bot.calls.length, 1, 'nobody answered: the bot was not bothered')
})

function levelOf(payload: Uint8Array): number {
  return levelDbfs(decodeG711('PCMU', payload))
}
