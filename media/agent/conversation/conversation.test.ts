import t from 'tap'
import { answering, begun, saying } from '../../../fixtures/rigs/conversation-starts.js'

t.test('the greeting leaves with the first packet; a turn is answered and traced', async (t) => {
  const rig = await begun({ spec: { openingLine: 'Good morning, Sunrise Dental. How can I help?' } })
  await rig.run(20)
  t.ok(rig.agentSounding, 'sound in the very first frame')
  await rig.until(() => rig.turns('agent').length === 1)
  t.equal(rig.turns('agent')[0]?.heardText, 'Good morning, Sunrise Dental. How can I help?')
  t.equal(rig.turns('agent')[0]?.startMs, 0)

  rig.callerSound(500, { ms: 900, text: 'When are you open?', finalAfterMs: 120 })
  await rig.until(() => rig.turns('agent').length === 2)
  t.same(rig.eventSummary(), [
    'agent: Good morning, Sunrise Dental. How can I help?',
    'caller: When are you open?',
    'trace',
    'agent: Answer 1.',
  ])
  t.same(rig.contextLines(), [
    'assistant: Good morning, Sunrise Dental. How can I help?',
    'user: When are you open?',
  ])
  const caller = rig.turns('caller')[0]
  const trace = rig.eventsOf('trace')[0]?.trace
  t.equal((caller?.endMs ?? 0) - (caller?.startMs ?? 0), 900)
  t.equal(trace?.speechEndMs, caller?.endMs)
  const stages = [
    trace?.speechEndMs,
    trace?.vadStopMs,
    trace?.sttFinalMs,
    trace?.decidedMs,
    trace?.modelFirstTokenMs,
    trace?.firstSentenceMs,
    trace?.ttsFirstAudioMs,
    trace?.firstPacketMs,
  ].map((at) => Math.round((at ?? -1) - (trace?.speechEndMs ?? 0)))
  t.same(
    stages,
    [...stages].sort((a, b) => a - b),
    'in order',
  )
  t.same(stages.slice(0, 7), [0, 300, 420, 420, 620, 620, 670])
  t.ok((stages[7] ?? 999) <= 690, 'on the wire with the next beat')
  t.equal(rig.turns('agent')[1]?.startMs, trace?.firstPacketMs)
  t.equal(rig.close(), 0, 'no timer left')
  t.equal(rig.openStreams, 0)
})

t.test('a caller who continues before the reply makes one turn', async (t) => {
  const rig = await begun()
  rig.modelScripts.push([
    { after: 900, text: 'Too early.' },
    { after: 0, done: true },
  ])
  rig.callerSound(100, saying('Can I book'))
  await rig.until(() => rig.requests.length === 1)
  rig.callerSound(60, { ms: 1000, text: 'an appointment for tomorrow?', partials: [[200, 'an']] })
  await rig.until(() => rig.requests.length === 2)
  t.equal(rig.sentSamples(), 0, 'the first answer was never heard')
  t.same(rig.contextLines(), ['user: Can I book an appointment for tomorrow?'])
  await rig.until(() => rig.turns('agent').length === 1)
  t.same(rig.eventSummary(), ['caller: Can I book an appointment for tomorrow?', 'trace', 'agent: Answer 2.'])
  t.equal(rig.close(), 0)
})

t.test('without an opening the caller speaks first', async (t) => {
  const rig = await begun()
  await rig.run(3000)
  t.equal(rig.sentSamples(), 0)
  rig.callerSound(0, saying('Hello?'))
  await rig.until(() => rig.turns('agent').length === 1)
  t.same(rig.eventSummary(), ['caller: Hello?', 'trace', 'agent: Answer 1.'])
  t.equal(rig.close(), 0)
})

t.test('one sentence ahead of the playing one is synthesised', async (t) => {
  const rig = await begun()
  rig.modelScripts.push([
    { after: 50, text: 'One sentence that is long enough. Two sentences that are long enough. ' },
    { after: 10, text: 'Three sentences that are long enough. Four.' },
    { after: 0, done: true },
  ])
  rig.callerSound(0, saying('Tell me.'))
  await rig.until(() => rig.agentSounding)
  await rig.run(300)
  t.equal(rig.spoken.length, 2)
  await rig.run(2000)
  t.equal(rig.spoken.length, 3)
  await rig.until(() => rig.turns('agent').length === 1)
  t.same(
    rig.spoken.map(({ text }) => text),
    [
      'One sentence that is long enough.',
      'Two sentences that are long enough.',
      'Three sentences that are long enough.',
      'Four.',
    ],
  )
  t.equal(
    rig.longestSilence(rig.turns('agent')[0]?.startMs ?? 0, rig.turns('agent')[0]?.endMs ?? 0),
    0,
    'no gap',
  )
  t.equal(rig.close(), 0)
})

t.test('leading silence of the synthesis is not sent', async (t) => {
  const rig = await begun()
  rig.speechScripts.push({ leadMs: 240, words: true })
  rig.callerSound(0, saying('Hi.'))
  await rig.until(() => rig.agentSounding)
  const first = rig.frames.at(-1)?.pcm
  t.ok(
    first?.subarray(0, 81).some((sample) => sample >= 1000),
    'sound after 10 ms',
  )
  await rig.until(() => rig.turns('agent').length === 1)
  const words = rig.turns('agent')[0]?.words ?? []
  t.equal(words[0]?.text, 'Answer')
  t.ok((words[0]?.startMs ?? 999) - (rig.turns('agent')[0]?.startMs ?? 0) <= 10, 'word times follow')
  t.equal(rig.close(), 0)
})

t.test('a vendor with a different sample rate', async (t) => {
  const rig = await begun()
  rig.speechScripts.push({ rate: 24000 })
  rig.callerSound(0, saying('Are you open?'))
  await rig.until(() => rig.turns('agent').length === 1)
  const { startMs = 0, endMs = 0 } = rig.turns('agent')[0] ?? {}
  t.ok(Math.abs(endMs - startMs - 'Answer 1.'.length * 60) <= 20, `${endMs - startMs} ms of speech`)
  t.equal(rig.turns('agent')[0]?.heardText, 'Answer 1.')
  t.equal(rig.close(), 0)
})

t.test('a recogniser with its own endpointing causes no extra wait', async (t) => {
  const rig = await begun({ endOfUtterance: true })
  rig.callerSound(0, { ms: 900, text: null })
  await rig.run(1000)
  rig.final('Are you open?')
  await rig.until(() => rig.requests.length === 1)
  t.ok(rig.nowMs <= 1240, `${rig.nowMs} ms: the stop of the detector decides`)
  t.equal(rig.close(), 0)
})

t.test('digits interrupt, are collected and are given to the model', async (t) => {
  const rig = await answering()
  rig.press('4')
  t.equal(rig.eventsOf('interrupted').length, 1)
  await rig.run(40)
  t.notOk(rig.frames.at(-1)?.pcm)
  rig.press('2')
  await rig.run(300)
  t.equal(rig.requests.length, 1)
  rig.press('#')
  await rig.run(40)
  t.equal(rig.contextLines().at(-1), 'user: 42')
  t.equal(rig.eventsOf('dtmf').length, 3)
  await rig.until(() => rig.turns('agent').length === 2)
  rig.press('7')
  await rig.run(1900)
  t.equal(rig.requests.length, 2)
  await rig.run(200)
  t.equal(rig.contextLines().at(-1), 'user: 7', 'after two seconds without a key')
  t.equal(rig.close(), 0)
})

t.test('the agent waits for an unfinished sentence, which stays one turn', async (t) => {
  const rig = await begun()
  rig.callerSound(0, { ms: 900, text: 'I want a table and', finalAfterMs: 100 })
  rig.callerSound(1700, { ms: 900, text: 'a place to park.', finalAfterMs: 100 })
  await rig.until(() => rig.turns('agent').length === 1)
  t.equal(rig.requests.length, 1)
  t.equal(rig.turns('caller')[0]?.text, 'I want a table and a place to park.')
})

t.test('a caller who does not continue is answered within a second, without an apology', async (t) => {
  const rig = await begun()
  rig.callerSound(0, { ms: 900, text: 'I want a table and', finalAfterMs: 100 })
  await rig.until(() => rig.agentSounding)
  const [trace] = rig.eventsOf('trace')
  t.ok((trace?.trace.decidedMs ?? 0) - (trace?.trace.speechEndMs ?? 0) <= 1000)
  await rig.until(() => rig.turns('agent').length === 1)
  t.equal(rig.requests.length, 1)
  t.notMatch(rig.turns('agent')[0]?.text, /trouble|moment/)
})

t.test('a number spoken in groups is one turn; the waits adapt to the caller', async (t) => {
  const rig = await begun()
  rig.callerSound(0, { ms: 900, text: 'My number is nine eight seven', finalAfterMs: 100 })
  rig.callerSound(1900, { ms: 900, text: 'six five four', finalAfterMs: 100 })
  // A pause that would be too long for another caller.
  rig.callerSound(4200, { ms: 900, text: 'three two one zero', finalAfterMs: 100 })
  await rig.until(() => rig.turns('agent').length === 1)
  t.equal(rig.requests.length, 1)
  t.equal(rig.turns('caller')[0]?.text, 'My number is nine eight seven six five four three two one zero')
})

t.test('a mobile number that the agent asked for is one turn, whatever the pause in it', async (t) => {
  const rig = await begun()
  rig.modelScripts.push([
    { after: 100, text: 'Sure. May I have your mobile number?' },
    { after: 0, done: true },
  ])
  rig.callerSound(0, saying('Please book it.'))
  await rig.until(() => rig.turns('agent').length === 1)
  // Four digits alone could be a complete number, and the recogniser has the text of each group at once.
  rig.callerSound(100, { ms: 900, text: '9876', finalAfterMs: 100 })
  rig.callerSound(2200, { ms: 1200, text: '543210', finalAfterMs: 100 })
  await rig.until(() => rig.turns('agent').length === 2)
  t.equal(rig.requests.length, 2)
  t.same(
    rig.turns('caller').map(({ text }) => text),
    ['Please book it.', '9876 543210'],
  )
  t.equal(rig.close(), 0)
})
