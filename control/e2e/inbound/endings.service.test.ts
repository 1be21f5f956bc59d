import t from 'tap'
import { type Caller, call } from '../../../fixtures/service/caller.js'
import { type Json, openService } from '../../../fixtures/service/service.js'
import { cseqOf } from '../../../fixtures/sip/sip-message.js'
import { eventStream, openFakeOpenAi } from '../../../fixtures/vendors/fake-openai.js'
import {
  chatFrames,
  DONE_FRAME,
  deltaFrame,
  finishFrame,
  textFrame,
} from '../../../fixtures/vendors/openai-frames.js'

/*
 * Inbound calls that the service ends, and calls refused for lack of slots. The agent's model is scripted and
 * served over real HTTP.
 */

const vendor = await openFakeOpenAi()
t.teardown(() => vendor.close())
// The DTMF digit 9 says goodbye: the agent speaks last words and calls the tool that ends the call.
vendor.setDefault('chat', ({ body }) => {
  const { messages } = JSON.parse(body.toString()) as { messages: { role: string; content: string }[] }
  const heard = messages.findLast(({ role }) => role === 'user')?.content ?? ''
  if (!heard.includes('9')) return eventStream(chatFrames(['Very', ' good.']))
  const tool = { index: 0, id: 'call_bye', type: 'function', function: { name: 'end_call', arguments: '{}' } }
  return eventStream([
    textFrame('Thank you for calling.'),
    deltaFrame(JSON.stringify({ tool_calls: [tool] })),
    finishFrame('tool_calls'),
    DONE_FRAME,
  ])
})

const service = await openService(t, {
  virtual: true,
  mediaTimeoutMs: 3_000,
  env: { PARLEY_OPENAI_BASE_URL: vendor.baseUrl, PARLEY_ALLOW_PRIVATE_URLS: 'true' },
  agent: { llmModel: 'gpt-4o-mini', callSettings: { maxCallSeconds: 30 } },
})

/** Asserts the end of a call that we ended, at the far side: a BYE, and no packet after it. */
async function ended(t: Pick<typeof import('tap').default, 'equal'>, caller: Caller, callId: string) {
  await caller.dialog.ended(90_000)
  t.equal(caller.dialog.endedBy, 'remote', 'a BYE of ours')
  const byes = caller.peer.log.filter(({ message }) => message.method === 'BYE')
  // A host that stands still may send it again.
  t.equal(new Set(byes.map(({ message }) => cseqOf(message).number)).size, 1, 'one of them')
  const call = await service.ended(callId)
  t.equal(service.of(callId, 'ended').length, 1)
  return call
}

t.test('endings', async (t) => {
  t.jobs = 4

  t.test('the agent hangs up after its last words', { buffered: true, timeout: 120_000 }, async (t) => {
    const caller = await call(t, service, { transport: 'tcp' })
    await caller.answered()
    const callId = await caller.callId()
    await service.until('the greeting', () => service.of(callId, 'turn').length === 1)
    caller.rtp.press('9#')
    t.match(await ended(t, caller, callId), { disposition: 'answered', endedReason: 'agent_hangup' })
    t.match(service.of(callId, 'ended')[0]?.ending, { by: 'agent', fault: 'none' })
    t.strictSame(
      service.of(callId, 'tool').map(({ name }) => name),
      ['end_call'],
    )
    const { segments } = await service.api('GET', `/v1/calls/${callId}/transcript`)
    const spoken = (segments as Json[]).filter(({ role }) => role === 'agent').map(({ text }) => text)
    t.match(spoken.join(' '), /Thank you for calling\./)
    const last = service.of(callId, 'turn').at(-1)?.turn
    t.ok(caller.rtp.loud().length * 20 > (last?.endMs ?? 0) - (last?.startMs ?? 0), 'the words were heard')
  })

  t.test('the maximum duration of the agent', { buffered: true, timeout: 120_000 }, async (t) => {
    const caller = await call(t, service)
    await caller.answered()
    const callId = await caller.callId()
    const record = await ended(t, caller, callId)
    t.match(record, { disposition: 'answered', endedReason: 'max_duration' })
    const seconds = (Date.parse(String(record.endedAt)) - Date.parse(String(record.answeredAt))) / 1000
    // Only the limit gives this reason. The hang-up line is part of it, so it begins some seconds earlier.
    t.ok(seconds >= 25, `after ${seconds} s`)
  })

  t.test('a caller that never sends media', { buffered: true, timeout: 120_000 }, async (t) => {
    const caller = await call(t, service)
    t.equal(await caller.dialog.final(), 200)
    // It has forgotten the call.
    caller.dialog.hasForgotten = true
    const callId = await caller.callId()
    await caller.until('the greeting', () => caller.rtp.loud().length > 0)
    const record = await ended(t, caller, callId)
    t.match(record, { endedReason: 'carrier_error' })
    t.match(service.of(callId, 'ended')[0]?.ending, { fault: 'carrier', note: 'media timeout' })
    const ms = Date.parse(String(record.endedAt)) - Date.parse(String(record.answeredAt))
    t.ok(ms >= 2_500, `after ${ms} ms`)
  })

  t.test('a caller whose media stops', { buffered: true, timeout: 120_000 }, async (t) => {
    const caller = await call(t, service)
    await caller.answered()
    const callId = await caller.callId()
    await caller.until('a second', () => caller.rtp.received.length > 50)
    caller.rtp.pause()
    // It is gone without a word.
    caller.dialog.answersOptions = false
    t.match(await ended(t, caller, callId), { endedReason: 'carrier_error' })
    t.match(service.of(callId, 'ended')[0]?.ending, { note: 'media timeout' })
    t.ok((service.of(callId, 'ended')[0]?.rtp?.packetsReceived ?? 0) > 25)
  })

  t.test('a muted caller without RTCP keeps the call', { buffered: true, timeout: 120_000 }, async (t) => {
    const caller = await call(t, service)
    await caller.answered()
    const callId = await caller.callId()
    await caller.until('a second', () => caller.rtp.received.length > 50)
    caller.rtp.pause()
    const asked = () => caller.peer.log.filter(({ message }) => message.method === 'OPTIONS').length
    await caller.until('the third question', () => asked() >= 3)
    caller.dialog.bye()
    t.match(await service.ended(callId), { disposition: 'answered', endedReason: 'caller_hangup' })
  })
})

t.test(
  'the limit is five calls: the sixth gets 486 and a row; a slot becomes free when one ends',
  async (t) => {
    const callers = await Promise.all(Array.from({ length: 5 }, () => call(t, service)))
    for (const caller of callers) await caller.answered()
    const sixth = await call(t, service)
    t.equal(await sixth.dialog.final(), 486)
    const refused = await service.api('GET', `/v1/calls/${await sixth.callId()}`)
    t.match(refused, {
      status: 'ended',
      direction: 'inbound',
      endedReason: 'pool_full',
      disposition: 'failed',
      answeredAt: null,
      billedPaise: 0,
      hasRecording: false,
    })
    t.equal(sixth.rtp.received.length, 0)
    const [first] = callers
    if (first === undefined) throw new Error('no caller')
    await first.hangUp()
    await service.ended(await first.callId())
    const seventh = await call(t, service)
    await seventh.answered()
    await seventh.until('the greeting', () => seventh.rtp.loud().length > 0)
    for (const caller of [...callers.slice(1), seventh]) await caller.hangUp()
    for (const caller of [...callers.slice(1), seventh]) {
      t.match(await service.ended(await caller.callId()), { endedReason: 'caller_hangup' })
    }
    t.equal(service.parley.live, 0)
    t.strictSame(
      (await service.parley.load()).map(({ sessions }) => sessions),
      [0],
      'no session is left at the worker',
    )
  },
)
