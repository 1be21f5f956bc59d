import t from 'tap'
import { ConversationRig } from '../../../fixtures/rigs/conversation-rig.js'
import { answering, begun, LONG_ANSWER, saying } from '../../../fixtures/rigs/conversation-starts.js'
import type { ToolSpec } from '../agent-spec.js'

/* How a conversation ends: by the agent, by silence, by its maximum duration, by a hang-up. */

const END_CALL: ToolSpec = {
  name: 'end_call',
  description: 'Ends the call',
  parameters: [],
  speech: {},
  action: { kind: 'end_call' },
}

t.test('end_call: the reply and the hang-up phrase are sent completely', async (t) => {
  const rig = await begun({ spec: { tools: [END_CALL], hangupLine: 'Have a pleasant day.' } })
  rig.modelScripts.push([
    { after: 50, text: 'Thank you for calling.' },
    { after: 10, tools: [{ id: 'c1', name: 'end_call', arguments: {} }] },
    { after: 0, done: true },
  ])
  rig.callerSound(0, saying('That is all.'))
  await rig.until(() => rig.turns('agent').length === 1)
  // Speech over the last phrase changes nothing.
  rig.callerSound(200, { ms: 900, text: 'Wait!', partials: [[100, 'Wait']] })
  await rig.until(() => rig.eventsOf('finished').length === 1)
  t.same(
    rig.eventSummary(),
    [
      'tool end_call',
      'caller: That is all.',
      'trace',
      'agent: Thank you for calling.',
      'agent: Have a pleasant day.',
      'caller: Wait',
      'finished agent_hangup',
    ].flat(),
  )
  const samples = ('Thank you for calling.'.length + 'Have a pleasant day.'.length) * 60 * 8
  t.equal(
    rig.sentSamples(),
    Math.ceil(samples / 160) * 160 + (samples % 160 === 0 ? 0 : 0),
    'every sample was sent',
  )
  t.equal(rig.clock.pending, 0)
  t.equal(rig.openStreams, 0)
})

t.test('a caller who interrupts the goodbye continues the call', async (t) => {
  const rig = await begun({ spec: { tools: [END_CALL] } })
  rig.modelScripts.push([
    { after: 50, text: 'Thank you very much for calling Sunrise Dental, and goodbye.' },
    { after: 10, tools: [{ id: 'c1', name: 'end_call', arguments: {} }] },
    { after: 0, done: true },
  ])
  rig.callerSound(0, saying('That is all.'))
  await rig.until(() => rig.agentSounding)
  rig.callerSound(600, { ms: 900, text: 'One more question.', partials: [[200, 'One more']] })
  await rig.until(() => rig.turns('agent').length === 2)
  t.equal(rig.eventsOf('finished').length, 0)
  t.equal(rig.turns('agent')[1]?.heardText, 'Answer 2.')
  t.equal(rig.close(), 0)
})

t.test('an opt-out is confirmed to the end in the language of the caller, without the model', async (t) => {
  const spec = { hangupLine: 'Goodbye.', languages: ['en-IN', 'hi-IN'] }
  const rig = await begun({ spec: { ...spec, optOut: { phrases: true, dtmfKey: null } } })
  rig.callerSound(0, saying('मुझे कॉल मत करो।'))
  await rig.until(() => rig.agentSounding)
  rig.callerSound(200, { ms: 900, text: 'Sorry?', partials: [[100, 'Sorry']] })
  await rig.until(() => rig.eventsOf('finished').length === 1)
  t.match(rig.eventSummary(), [
    'caller: मुझे कॉल मत करो।',
    'caller: Sorry?',
    'agent: ठीक है, हम इस नंबर पर फिर कॉल नहीं करेंगे। Goodbye.',
    'finished agent_hangup',
  ])
  t.equal(rig.requests.length, 0)
  t.equal(rig.clock.pending, 0)
})

t.test('nudges, then the call ends for silence', async (t) => {
  const rig = await begun({
    spec: {
      openingLine: 'Hello.',
      hangupLine: 'Goodbye.',
      nudges: {
        enabled: true,
        hangupAfter: true,
        steps: [
          { afterSeconds: 10, text: 'Are you there?' },
          { afterSeconds: 20, text: 'Can you hear me?' },
        ],
      },
    },
  })
  await rig.until(() => rig.eventsOf('finished').length === 1)
  t.same(rig.eventSummary(), [
    'agent: Hello.',
    'agent: Are you there?',
    'agent: Can you hear me?',
    'agent: Goodbye.',
    'finished silence',
  ])
  const gaps = rig.turns('agent').map(({ startMs }, index, turns) => startMs - (turns[index - 1]?.endMs ?? 0))
  for (const gap of gaps.slice(1)) t.ok(gap >= 9980 && gap < 10_200, `${gap} ms`)
  t.equal(rig.clock.pending, 0)
})

t.test('speech resets the nudges', async (t) => {
  const steps = [
    { afterSeconds: 5, text: 'Are you there?' },
    { afterSeconds: 10, text: 'Can you hear me?' },
  ]
  const rig = await begun({ spec: { nudges: { enabled: true, hangupAfter: true, steps } } })
  await rig.until(() => rig.turns('agent').length === 1)
  rig.callerSound(1000, saying('Yes, sorry.'))
  await rig.until(() => rig.turns('agent').length === 3)
  t.same(
    rig.turns('agent').map(({ heardText }) => heardText),
    ['Are you there?', 'Answer 1.', 'Are you there?'],
  )
  t.equal(rig.close(), 0)
})

t.test('the maximum duration ends the call with the hang-up phrase, even during speech', async (t) => {
  const rig = await begun({ spec: { maxCallSeconds: 8, hangupLine: 'Time is up.' } })
  rig.modelScripts.push([
    { after: 50, text: LONG_ANSWER },
    { after: 0, done: true },
  ])
  rig.callerSound(1500, saying('Tell me everything.'))
  await rig.until(() => rig.eventsOf('finished').length === 1)
  t.same(rig.eventSummary().slice(0, 2), ['caller: Tell me everything.', 'trace'])
  t.ok((rig.turns('agent')[0]?.heardText.length ?? 999) < LONG_ANSWER.length)
  t.same(rig.eventSummary().slice(3), ['agent: Time is up.', 'finished max_duration'])
  t.ok(rig.nowMs < 8000, 'the phrase is part of the call')
  t.equal(rig.clock.pending, 0)
})

t.test('a hang-up phrase longer than estimated is cut when the call has to end', async (t) => {
  const rig = await begun({ spec: { maxCallSeconds: 5, hangupLine: LONG_ANSWER } })
  await rig.until(() => rig.eventsOf('finished').length === 1)
  t.match(rig.eventsOf('finished'), [{ why: 'max_duration' }])
  const [line] = rig.turns('agent')
  t.ok(
    LONG_ANSWER.startsWith(line?.heardText ?? ' ') && line?.heardText !== LONG_ANSWER,
    `${line?.heardText}`,
  )
  t.ok(rig.nowMs > 4000 && rig.nowMs <= 5000, `${rig.nowMs}`)
  t.equal(rig.clock.pending, 0)
})

t.test('a hang-up during speech keeps the heard words and leaves nothing running', async (t) => {
  const rig = await answering()
  t.equal(rig.close(), 0)
  t.match(rig.turns('agent')[0]?.heardText, /^We are open/)
  t.equal(rig.turns('agent')[0]?.cutAtMs, Math.round(rig.nowMs), 'cut, though not by the caller')
  const count = rig.events.length
  await rig.run(2000)
  t.equal(rig.events.length, count, 'no event after close')
  t.notOk(rig.agentSounding)
  rig.conversation.close('hangup')
  t.equal(rig.openStreams, 0)
})

t.test('closing before the start, and while preparing', async (t) => {
  const rig = new ConversationRig({ spec: { openingLine: 'Hello.' } })
  const prepared = rig.conversation.prepare()
  rig.conversation.close('hangup')
  await prepared
  t.equal(rig.clock.pending, 0)
  t.same(rig.events, [])
})
