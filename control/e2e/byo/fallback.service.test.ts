import t from 'tap'
import { openBot } from '../../../fixtures/bots/bot.js'
import { openByoService } from '../../../fixtures/bots/byo-service.js'
import { call } from '../../../fixtures/service/caller.js'
import type { Json } from '../../../fixtures/service/service.js'

/*
 * A bot that cannot be reached or is lost: the agent of the number takes the call over, if the number says so.
 */

const service = await openByoService(t)
t.jobs = 3
const beside = () => ({ buffered: true, timeout: 150_000 })
const GONE = 'ws://127.0.0.1:9/'
const APOLOGY = /^Sorry, there is a technical problem\. \S/

const native = (url: string) => ({ type: 'static', format: 'mulaw', sampleRate: 8000, url })

async function numberWithFallback(url: string) {
  const number = await service.routed(native(url))
  const patched = await service.api('PATCH', `/v1/numbers/${number.id}`, {
    agentId: service.agentId,
    byoFallback: 'agent',
  })
  return { ...number, patched }
}

t.test('the fallback agent needs an agent', beside(), async (t) => {
  const { id } = await service.routed(native(GONE))
  t.match(await service.api('GET', `/v1/numbers/${id}`), { byoFallback: 'hangup', agentId: null })
  const patch = (body: object) => service.send('PATCH', `/v1/numbers/${id}`, body)
  t.match(await patch({ byoFallback: 'agent' }), {
    status: 422,
    body: { error: { code: 'unprocessable_entity', details: { path: 'byoFallback' } } },
  })
  t.match(await patch({ byoFallback: 'agent', agentId: service.agentId }), {
    status: 200,
    body: { data: { byoFallback: 'agent', agentId: service.agentId, routingMode: 'byo_ws' } },
  })
  t.match(await patch({ agentId: null }), { status: 422, body: { error: { details: { path: 'agentId' } } } })
  t.match(await patch({ agentId: null, byoFallback: 'hangup' }), {
    status: 200,
    body: { data: { agentId: null } },
  })
})

t.test('an unreachable bot: the agent answers the call', beside(), async (t) => {
  const { e164 } = await numberWithFallback(GONE)
  const caller = await call(t, service, { to: e164, rtp: { codec: 'PCMU' } })
  await caller.answered()
  const callId = await caller.callId()
  await service.until('the opening line', () => service.of(callId, 'turn').length > 0)
  await caller.hangUp()
  const ended = await service.ended(callId)
  t.match(service.of(callId, 'turn')[0]?.turn, { speaker: 'agent', text: APOLOGY })
  t.match(service.of(callId, 'trouble'), [{ part: 'bot', code: 'bot_unreachable' }])
  t.match(ended, {
    routingMode: 'byo_ws',
    agentId: service.agentId,
    agentVersion: 1,
    endedReason: 'caller_hangup',
    hasTranscript: true,
    error: null,
    ratePaisePerMinute: 200,
    charges: [
      { kind: 'agent', seconds: 0, amountPaise: 0 },
      { kind: 'fallback', ratePaisePerMinute: 500 },
    ],
  })
})

t.test(
  'a bot that is lost in the call: the agent goes on, and each costs its own price',
  beside(),
  async (t) => {
    const bot = await openBot(t)
    const { e164 } = await numberWithFallback(bot.url)
    const caller = await call(t, service, { to: e164, rtp: { codec: 'PCMU' } })
    await caller.answered()
    const there = await bot.call()
    await there.until('media', () => there.messagesOfType('media').length > 60)
    const callId = await caller.callId()
    t.same(service.of(callId, 'agent_took_over'), [])
    there.socket.terminate()
    await caller.until('the voice of the agent', () => caller.rtp.loud().length > 40)
    await service.until('the opening line', () => service.of(callId, 'turn').length > 0)
    const heard = service.of(callId, 'turn')[0]?.turn
    await caller.hangUp()
    const ended = await service.ended(callId)
    t.match(heard, { speaker: 'agent', text: APOLOGY })
    const [takeover] = service.of(callId, 'agent_took_over')
    t.ok((takeover?.atMs ?? 0) >= 1200, `after the bot's part, at ${takeover?.atMs} ms`)
    t.ok((heard?.startMs ?? 0) >= 1000, `times count from the start of the call: ${heard?.startMs} ms`)
    t.match(service.of(callId, 'trouble'), [{ part: 'bot', code: 'bot_disconnected' }])
    t.match(ended, {
      agentId: service.agentId,
      endedReason: 'caller_hangup',
      bot: { closeCode: 1006 },
      charges: [
        { kind: 'agent', ratePaisePerMinute: 200 },
        { kind: 'fallback', ratePaisePerMinute: 500 },
      ],
    })
    const charges = ended.charges as { seconds: number; amountPaise: number }[]
    t.equal(
      ended.durationSeconds,
      charges.reduce((sum, { seconds }) => sum + seconds, 0),
    )
    t.equal(
      ended.billedPaise,
      charges.reduce((sum, { amountPaise }) => sum + amountPaise, 0),
    )
  },
)

t.test('a bot that goes away and left a token is dialled again', beside(), async (t) => {
  const bot = await openBot(t)
  const { e164 } = await numberWithFallback(bot.url)
  const caller = await call(t, service, { to: e164, rtp: { codec: 'PCMU' } })
  await caller.answered()
  const first = await bot.call()
  first.send({ event: 'resume', resume: { token: 'state-1' } })
  first.send({ event: 'mark', mark: { name: 'a' } })
  await first.until('its mark', () => first.messagesOfType('mark').length === 1)
  first.socket.close(1001)

  const second = await bot.call(1)
  await second.until('media', () => second.messagesOfType('media').length > 20)
  const callId = await caller.callId()
  const [before, after] = [first, second].map((there) => there.messagesOfType('start')[0]?.json.start as Json)
  t.equal(second.headers['x-resume-token'], 'state-1')
  t.match(after, { callId: before?.callId, customParameters: { resumeToken: 'state-1' } })
  t.not(after?.streamId, before?.streamId)
  t.equal(first.headers['x-resume-token'], undefined)
  second.send({ event: 'mark', mark: { name: 'b' } })
  await second.until('its mark', () => second.messagesOfType('mark').length === 1)
  second.socket.close(1001)
  t.match(await service.ended(callId), {
    agentId: null,
    endedReason: 'agent_hangup',
    bot: { marks: 2, closeCode: 1001 },
  })
  t.match(service.of(callId, 'trouble'), [
    { code: 'bot_disconnected', message: 'the socket closed with 1001' },
  ])
  t.equal(bot.calls.length, 2, 'without a token of its own it has ended the call')
})

t.test('a bot that does not come back: music, then the agent', beside(), async (t) => {
  let gone = false
  const bot = await openBot(t, { refuse: () => (gone ? 503 : null) })
  const { e164 } = await numberWithFallback(bot.url)
  const caller = await call(t, service, { to: e164, rtp: { codec: 'PCMU' } })
  await caller.answered()
  const there = await bot.call()
  there.send({ event: 'resume', resume: { token: 'state-1' } })
  await there.until('media', () => there.messagesOfType('media').length > 20)
  const callId = await caller.callId()
  gone = true
  const quiet = caller.rtp.loud().length
  there.socket.terminate()
  await caller.until('music', () => caller.rtp.loud().length > quiet + 50)
  t.same(service.of(callId, 'agent_took_over'), [])
  await service.until('the opening line', () => service.of(callId, 'turn').length > 0)
  await caller.hangUp()
  t.match(await service.ended(callId), { agentId: service.agentId, endedReason: 'caller_hangup' })
  t.equal(bot.attempts, 5, 'two tries of two attempts each')
  t.strictSame(
    service.of(callId, 'trouble').map(({ code }) => code),
    ['bot_disconnected', 'bot_unreachable', 'bot_unreachable'],
  )
})

t.test('an outbound call whose bot is unreachable, and a bot that hangs up', beside(), async (t) => {
  const { id } = await numberWithFallback(GONE)
  const callId = await service.call('+919000000055', { numberId: id, agentId: undefined })
  await service.until('the takeover', () => service.of(callId, 'agent_took_over').length === 1)
  await service.until('the opening line', () => service.of(callId, 'turn').length > 0)
  await service.api('POST', `/v1/calls/${callId}/hangup`)
  t.match(await service.ended(callId), { agentId: service.agentId, disposition: 'answered' })

  const bot = await openBot(t, { onCall: ({ socket }) => socket.close(1000) })
  const leaving = await numberWithFallback(bot.url)
  const other = await service.ended(await service.call('+919000000055', { numberId: leaving.id }))
  t.match(other, { agentId: null, endedReason: 'agent_hangup' }, 'a bot may end its call')
  t.same(service.of(String(other.id), 'agent_took_over'), [])
})

t.test('a fallback agent that cannot answer: the call ends as without it', beside(), async (t) => {
  const draft = await service.api('POST', '/v1/agents', { name: 'Never published' })
  const { id, e164 } = await service.routed(native(GONE))
  const bound = await service.send('PATCH', `/v1/numbers/${id}`, {
    agentId: draft.id,
    byoFallback: 'agent',
  })
  t.equal(bound.status, 200)
  const caller = await call(t, service, { to: e164, rtp: { codec: 'PCMU' } })
  t.equal(await caller.dialog.final(), 480)
  t.match(await service.ended(await caller.callId()), { endedReason: 'bot_disconnected', agentId: null })
})
