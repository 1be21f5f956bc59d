import t from 'tap'
import {
  closeAndCheck,
  openAnsweringRig,
  openRealtimeRig,
  TEN_SECOND_ANSWER,
} from '../../../fixtures/rigs/realtime-rig.js'

/* Failures of a speech-to-speech model: what the caller hears and what the next connection knows. */

t.test('a silent model: apology in the embedded voice, a new connection, then goodbye', async (t) => {
  const rig = await openRealtimeRig({}, { phraseMs: null })
  const model = rig.realtimeModel
  model.replies.push({ stall: true }, { stall: true })
  model.transcripts.push({ text: 'When are you open?' })
  rig.callerSound(200, { ms: 900, text: null })
  await rig.until(() => rig.eventsOf('finished').length === 1)
  const texts = rig.turns('agent').map(({ heardText }) => heardText)
  t.match(texts.join(' '), /One moment please.*technical problem/s)
  t.match(rig.eventsOf('finished'), [{ why: 'provider_failure' }])
  t.equal(model.opened.length, 2, 'the second try is on a new connection')
  t.match(model.opened[1]?.history, [{ role: 'user', content: 'When are you open?' }])
  const endMs = rig.turns('caller')[0]?.endMs ?? 0
  t.ok(rig.longestSilence(endMs, rig.nowMs - 300) <= 3000, 'no dead air')
  t.ok(rig.breakers.isOpen('language_model openai-realtime gpt-realtime'), 'shown as not available')
  closeAndCheck(rig)
})

t.test('a rejected API key ends the call with a goodbye', async (t) => {
  const refusals = Array.from({ length: 20 }, () => 'vendor_rejected' as const)
  const rig = await openRealtimeRig({ spec: { openingLine: 'Hello.' } }, { refusals })
  await rig.until(() => rig.eventsOf('finished').length === 1, 20_000)
  t.match(rig.eventsOf('finished'), [{ why: 'provider_failure' }])
  t.match(rig.turns('agent').at(-1)?.heardText, /technical problem/)
  t.ok(rig.eventsOf('trouble').length > 0)
  closeAndCheck(rig)
})

t.test(
  'a connection lost during a reply: the played part is kept and given to the next connection',
  async (t) => {
    const rig = await openAnsweringRig()
    const model = rig.realtimeModel
    model.break()
    await rig.until(() => rig.turns('agent').length === 1)
    t.equal(rig.turns('agent')[0]?.heardText, TEN_SECOND_ANSWER, 'its sound had come')
    model.transcripts.push({ text: 'Thank you.' })
    rig.callerSound(300, { ms: 900, text: null })
    await rig.until(() => rig.turns('agent').length === 2)
    t.equal(model.opened.length, 2)
    t.match(model.opened[1]?.history, [{ role: 'user', content: 'When are you open?' }])
    t.equal(rig.turns('agent')[1]?.heardText, 'Answer 1.')
    closeAndCheck(rig)
  },
)

for (const [name, reply] of [
  ['stops', { endless: true }],
  ['fails', { fail: 'vendor_failed' }],
] as const) {
  t.test(`a reply that ${name} in the middle: the received part is played, then an apology`, async (t) => {
    const rig = await openRealtimeRig()
    rig.realtimeModel.replies.push({ items: [{ words: 'We are open from nine.', ms: 3000 }], ...reply })
    rig.callerSound(200, { ms: 900, text: null })
    await rig.until(() => rig.turns('agent').length === 1)
    t.match(rig.turns('agent')[0]?.heardText, /^We are open from nine\. Sorry, I am having trouble/)
    t.same(rig.eventSummary().filter((kind) => kind.startsWith('trouble')).length, 1)
    closeAndCheck(rig)
  })
}

t.test('a connection lost before the reply: the reply is requested again at once', async (t) => {
  const rig = await openRealtimeRig()
  const model = rig.realtimeModel
  model.replies.push({ stall: true })
  model.transcripts.push({ text: 'When are you open?' })
  rig.callerSound(200, { ms: 900, text: null })
  await rig.until(() => model.commands.includes('respond'))
  await rig.run(500)
  model.break()
  await rig.until(() => rig.turns('agent').length === 1)
  t.equal(model.opened.length, 2)
  t.match(model.opened[1]?.history, [{ role: 'user', content: 'When are you open?' }])
  t.equal(rig.turns('agent')[0]?.heardText, 'Answer 1.')
  t.same(
    rig.eventSummary().filter((kind) => kind.startsWith('trouble')),
    ['trouble language_model vendor_failed'],
  )
  closeAndCheck(rig)
})

t.test('a connection lost during silence is reopened', async (t) => {
  const rig = await openRealtimeRig()
  const model = rig.realtimeModel
  await rig.run(1000)
  model.break()
  await rig.run(1000)
  t.equal(model.connections, 1)
  model.transcripts.push({ text: 'Are you there?' })
  rig.callerSound(0, { ms: 900, text: null })
  await rig.until(() => rig.turns('agent').length === 1)
  t.same(
    rig.turns('caller').map(({ heardText }) => heardText),
    ['Are you there?'],
  )
  closeAndCheck(rig)
})

t.test('a connection is renewed before its time limit, during silence', async (t) => {
  const rig = await openRealtimeRig({}, { longestMs: 40_000 })
  const model = rig.realtimeModel
  model.transcripts.push({ text: 'When are you open?' }, { text: 'Thank you.' })
  model.replies.push({ items: [{ words: TEN_SECOND_ANSWER, ms: 10_000 }] })
  rig.callerSound(17_000, { ms: 900, text: null })
  await rig.run(22_000)
  t.equal(model.opened.length, 1, 'not in the middle of an answer')
  await rig.until(() => model.opened.length === 2)
  t.equal(rig.turns('agent').length, 1)
  t.match(model.opened[1]?.history, [
    { role: 'user', content: 'When are you open?' },
    { role: 'assistant', content: TEN_SECOND_ANSWER },
  ])
  t.equal(model.connections, 1)
  rig.callerSound(300, { ms: 900, text: null })
  await rig.until(() => rig.turns('agent').length === 2)
  t.same(
    rig.eventSummary().filter((kind) => kind.startsWith('trouble')),
    [],
  )
  closeAndCheck(rig)
})

t.test('missing transcripts do not block later events', async (t) => {
  const rig = await openRealtimeRig()
  const model = rig.realtimeModel
  model.transcripts.push({ text: 'Nobody reads this.', afterMs: 60_000 }, { text: null })
  rig.callerSound(200, { ms: 900, text: null })
  await rig.until(() => rig.turns('agent').length === 1)
  t.same(
    rig.turns('caller').map(({ heardText }) => heardText),
    ['[…]'],
  )
  rig.callerSound(200, { ms: 900, text: null })
  await rig.until(() => rig.turns('agent').length === 2)
  t.same(
    rig.turns('caller').map(({ heardText }) => heardText),
    ['[…]', '[…]'],
  )
  closeAndCheck(rig)
})

t.test('all events of an abruptly ended call are emitted', async (t) => {
  const rig = await openAnsweringRig()
  rig.callerSound(0, { ms: 5000, text: null })
  await rig.run(60)
  rig.conversation.close('hangup')
  const [turn] = rig.turns('agent')
  t.ok(TEN_SECOND_ANSWER.startsWith(turn?.heardText ?? '-'))
  t.same(
    rig.turns('caller').map(({ heardText }) => heardText),
    ['When are you open?'],
  )
  const told = rig.events.length
  await rig.run(6000)
  t.equal(rig.events.length, told, 'nothing afterwards')
  closeAndCheck(rig)
})
