import t from 'tap'
import {
  closeAndCheck,
  openAnsweringRig,
  openRealtimeRig,
  TEN_SECOND_ANSWER,
} from '../../../fixtures/rigs/realtime-rig.js'
import { OPENAI_REALTIME } from '../../vendors/vendor-ids.js'
import type { ToolSpec } from '../agent-spec.js'

/* Conversations with a speech-to-speech model on a virtual clock. */

const END_CALL: ToolSpec = {
  name: 'end_call',
  description: 'Ends the call',
  parameters: [],
  speech: {},
  action: { kind: 'end_call' },
}
const LOOK: ToolSpec = {
  name: 'look',
  description: 'Looks something up',
  parameters: [],
  speech: { 'en-IN': 'Let me look.' },
  action: {
    kind: 'http',
    request: {
      method: 'GET',
      url: 'https://api.example.com',
      timeoutMs: 8000,
      headers: {},
      bodyFormat: 'json',
      bodyRoot: null,
      auth: null,
      connectionId: null,
    },
  },
}

/** Paused audio fades out in a frame of its own and resumes where the fade began. */
const FADE_MS = 20

t.test('the model speaks the opening before the call; a turn is answered as it was heard', async (t) => {
  const rig = await openRealtimeRig({ spec: { openingLine: 'Good morning, Sunrise Dental.' } })
  const model = rig.realtimeModel
  t.equal(model.phrases[0], 'Good morning, Sunrise Dental.', 'beside the conversation, while it rings')
  t.match(model.opened, [
    {
      voice: 'marin',
      model: 'gpt-realtime',
      language: 'en-IN',
      instructions: /You are Asha\..*telephone/s,
    },
  ])
  await rig.run(20)
  t.ok(rig.agentSounding, 'sound in the very first frame')
  await rig.until(() => rig.turns('agent').length === 1)
  model.transcripts.push({ text: 'When are you open?', afterMs: 900 })
  rig.callerSound(500, { ms: 900, text: null })
  await rig.until(() => rig.turns('agent').length === 2)
  t.same(
    rig.eventSummary().filter((kind) => kind !== 'turn_record'),
    ['agent: Good morning, Sunrise Dental.', 'caller: When are you open?', 'trace', 'agent: Answer 1.'],
    'in order, although the words came after the answer began',
  )
  t.same(
    model.commands,
    ['tell assistant Good morning, Sunrise Dental.', 'committed caller_6', 'respond'].map((order) =>
      order.replace('caller_6', model.commands[1]?.split(' ')[1] ?? ''),
    ),
  )
  const caller = rig.turns('caller')[0]
  const trace = rig.eventsOf('trace')[0]?.trace
  t.equal((caller?.endMs ?? 0) - (caller?.startMs ?? 0), 900)
  t.equal(trace?.speechEndMs, caller?.endMs)
  t.equal(rig.turns('agent')[1]?.startMs, trace?.firstPacketMs)
  t.ok(
    (trace?.firstPacketMs ?? 9999) - (caller?.endMs ?? 0) <= 500 + 10 + 200 + 60,
    'the vendor’s silence, its answer, a beat',
  )
  t.match(
    rig.eventsOf('turn_record').at(-1)?.record.usage.models[0]?.sound,
    { promptTokens: 80, completionTokens: 15 },
    'tokens of sound, which cost more',
  )
  t.match(rig.eventsOf('turn_record').at(-1)?.record.usage.models, [
    {
      vendor: OPENAI_REALTIME,
      model: 'gpt-realtime',
      requests: 1,
      promptTokens: 100,
      completionTokens: 20,
    },
  ])
  closeAndCheck(rig)
})

t.test('barge-in: paused at once, then stopped; the model learns what was heard', async (t) => {
  const rig = await openAnsweringRig()
  const model = rig.realtimeModel
  const before = model.commands.length
  const soundMs = rig.nowMs
  model.transcripts.push({ text: 'And on Sunday?' })
  rig.callerSound(0, { ms: 1200, text: null })
  await rig.run(120)
  t.notOk(rig.agentSounding, 'paused within the detector’s time')
  await rig.until(() => rig.eventsOf('interrupted').length === 1)
  const sentMs = rig.sentSamples() / 8 - FADE_MS
  const item = model.commands.slice(before).find((order) => order.startsWith('truncate'))
  const told = Number(item?.split(' ')[2])
  t.ok(Math.abs(told - sentMs) <= 5, `told ${told} ms, ${sentMs} ms were sent`)
  const [turn] = rig.turns('agent')
  t.equal(turn?.text, TEN_SECOND_ANSWER)
  t.ok(
    TEN_SECOND_ANSWER.startsWith(turn?.heardText ?? '-') &&
      (turn?.heardText.length ?? 0) < TEN_SECOND_ANSWER.length / 2,
  )
  t.ok((turn?.cutAtMs ?? 0) - soundMs <= 100)
  await rig.until(() => rig.turns('agent').length === 2)
  t.same(
    rig.eventSummary().filter((kind) => !/turn_record|trace/.test(kind)),
    [
      'caller: When are you open?',
      'interrupted',
      `agent: ${turn?.heardText} |`,
      'caller: And on Sunday?',
      'agent: Answer 1.',
    ],
  )
  t.equal(model.commands.filter((order) => order === 'respond').length, 2)
  closeAndCheck(rig)
})

t.test('a reply in progress is cancelled and does not return', async (t) => {
  const rig = await openRealtimeRig()
  const model = rig.realtimeModel
  model.replies.push({ items: [{ words: TEN_SECOND_ANSWER, ms: 10_000, leadMs: 300 }], endless: true })
  rig.callerSound(200, { ms: 900, text: null })
  await rig.until(() => rig.agentSounding)
  await rig.run(2000)
  rig.callerSound(0, { ms: 1200, text: null })
  await rig.until(() => rig.turns('agent').length === 2)
  const [cancel, truncate] = model.commands.filter((order) => /cancel|truncate/.test(order))
  t.equal(cancel, 'cancel')
  // The vendor counts the leading silence, of which all but 10 ms was dropped.
  const firstMs = rig.sentSamples() / 8 - FADE_MS - 1000
  t.ok(Math.abs(Number(truncate?.split(' ')[2]) - (firstMs + 290)) <= 1, `${truncate}, ${firstMs} ms sent`)
  closeAndCheck(rig)
})

t.test('an opt-out is confirmed when its words arrive, over the reply of the model', async (t) => {
  const rig = await openRealtimeRig({
    spec: { hangupLine: 'Goodbye.', optOut: { phrases: true, dtmfKey: null } },
  })
  const model = rig.realtimeModel
  model.replies.push({ items: [{ words: TEN_SECOND_ANSWER, ms: 10_000 }] })
  model.transcripts.push({ text: 'Please do not call me again.', afterMs: 1500 })
  rig.callerSound(200, { ms: 900, text: null })
  await rig.until(() => rig.eventsOf('finished').length === 1)
  const lines = rig.turns('agent').map(({ heardText }) => heardText)
  t.equal(lines.at(-1), 'Understood. We will not call this number again. Goodbye.')
  t.equal(lines.length, 2)
  t.ok(TEN_SECOND_ANSWER.startsWith(lines[0] ?? '-') && lines[0] !== TEN_SECOND_ANSWER, 'cut')
  t.match(rig.eventsOf('finished'), [{ why: 'agent_hangup' }])
  closeAndCheck(rig)
})

for (const [name, ms, text] of [
  ['a cough', 200, ''],
  ['a backchannel', 400, 'mm-hmm'],
] as const) {
  t.test(`${name} pauses the agent and does not stop it`, async (t) => {
    const rig = await openAnsweringRig()
    const model = rig.realtimeModel
    model.transcripts.push({ text })
    rig.callerSound(0, { ms, text: null })
    await rig.run(ms + 700)
    t.ok(rig.agentSounding, 'it goes on')
    await rig.until(() => rig.turns('agent').length === 1)
    t.same(rig.eventsOf('interrupted'), [])
    t.equal(rig.eventsOf('resumed').length, 1)
    t.equal(rig.turns('agent')[0]?.heardText, TEN_SECOND_ANSWER)
    t.equal(rig.sentSamples() / 8 - FADE_MS, 10_000, 'nothing of it was lost')
    t.equal(model.commands.filter((order) => order === 'respond').length, 1)
    t.notOk(model.commands.some((order) => /truncate|cancel/.test(order)))
    t.equal(model.commands.filter((order) => order.startsWith('forget')).length, text === '' ? 1 : 0)
    t.same(
      rig.turns('caller').map(({ heardText }) => heardText),
      text === '' ? ['When are you open?'] : ['When are you open?', 'mm-hmm'],
    )
    closeAndCheck(rig)
  })
}

t.test('short words that are not a backchannel stop the agent once transcribed', async (t) => {
  const rig = await openAnsweringRig()
  rig.realtimeModel.transcripts.push({ text: 'Stop.' })
  rig.callerSound(0, { ms: 400, text: null })
  await rig.until(() => rig.eventsOf('interrupted').length === 1)
  await rig.until(() => rig.turns('agent').length === 2)
  t.equal(rig.eventsOf('resumed').length, 1, 'it went on until then')
  t.match(rig.turns('caller')[1], { heardText: 'Stop.' })
  closeAndCheck(rig)
})

t.test('a short sound while the agent waits: noise is not answered, a yes is', async (t) => {
  const rig = await openRealtimeRig()
  const model = rig.realtimeModel
  model.transcripts.push({ text: '' }, { text: 'Haan.' })
  rig.callerSound(200, { ms: 160, text: null })
  await rig.run(3000)
  t.same(rig.eventSummary(), [])
  t.notOk(model.commands.includes('respond'))
  rig.callerSound(0, { ms: 240, text: null })
  await rig.until(() => rig.turns('agent').length === 1)
  t.same(
    rig.turns('caller').map(({ heardText }) => heardText),
    ['Haan.'],
  )
  closeAndCheck(rig)
})

t.test('sound that the vendor does not recognise as speech is dropped', async (t) => {
  const rig = await openRealtimeRig({}, { silenceMs: 60_000 })
  // Below the vendor's threshold and above that of our VAD.
  rig.realtimeModel.stream.write = () => {}
  rig.callerSound(200, { ms: 900, text: null })
  await rig.run(5000)
  t.same(rig.eventSummary(), [])
  closeAndCheck(rig)
})

t.test('a turn that the vendor does not end is ended by the local VAD', async (t) => {
  const rig = await openRealtimeRig({}, { silenceMs: 60_000 })
  rig.realtimeModel.transcripts.push({ text: 'My number is.' })
  rig.callerSound(200, { ms: 900, text: null })
  await rig.until(() => rig.turns('agent').length === 1)
  const caller = rig.turns('caller')[0]
  const first = rig.eventsOf('trace')[0]?.trace.firstPacketMs ?? 0
  t.ok(first - (caller?.endMs ?? 0) <= 1800 + 10 + 200 + 60, 'below the limit of dead air')
  closeAndCheck(rig)
})

t.test('without a detector of the vendor the local VAD ends the turn; silence is not sent', async (t) => {
  const rig = await openRealtimeRig({}, { turnEnd: false })
  const model = rig.realtimeModel
  model.transcripts.push({ text: 'I want to book a visit for Monday.' })
  rig.callerSound(200, { ms: 500, text: null })
  rig.callerSound(1000, { ms: 500, text: null })
  await rig.until(() => rig.turns('agent').length === 1)
  t.equal(
    model.commands.filter((order) => order.startsWith('committed')).length,
    1,
    'one turn in spite of its pause',
  )
  t.same(
    rig.turns('caller').map(({ heardText }) => heardText),
    ['I want to book a visit for Monday.'],
  )
  t.ok(model.loudFrames >= 48, 'from the first voiced frame on')
  closeAndCheck(rig)
})

t.test('a caller who continues before the reply gets one reply to everything', async (t) => {
  const rig = await openRealtimeRig()
  const model = rig.realtimeModel
  model.replies.push({ afterMs: 1500, items: [{ words: 'Never heard.', ms: 1000 }] })
  model.transcripts.push({ text: 'I want to book' }, { text: 'for Monday.' })
  rig.callerSound(200, { ms: 900, text: null })
  rig.callerSound(1900, { ms: 900, text: null })
  await rig.until(() => rig.turns('agent').length === 1)
  t.same(
    rig.turns('caller').map(({ heardText }) => heardText),
    ['I want to book for Monday.'],
  )
  t.same(
    model.commands.filter((order) => /respond|cancel/.test(order)),
    ['respond', 'cancel', 'respond'],
  )
  t.equal(rig.turns('agent')[0]?.heardText, 'Answer 1.')
  closeAndCheck(rig)
})

t.test('the model receives pressed keys', async (t) => {
  const rig = await openRealtimeRig()
  for (const digit of ['1', '2', '#'] as const) rig.press(digit)
  await rig.until(() => rig.turns('agent').length === 1)
  t.same(rig.realtimeModel.commands.slice(0, 2), ['tell user Keys pressed on the telephone: 12', 'respond'])
  t.same(
    rig.turns('caller').map(({ heardText }) => heardText),
    ['12'],
  )
  closeAndCheck(rig)
})

t.test('a tool call: filler in the agent’s voice, result, reply', async (t) => {
  const rig = await openRealtimeRig({ spec: { tools: [LOOK, END_CALL] } })
  const model = rig.realtimeModel
  t.match(model.opened[0]?.tools, [{ name: 'look' }, { name: 'end_call' }])
  model.transcripts.push({ text: 'Is Monday free?' })
  model.replies.push(
    { calls: [{ id: 'call_1', name: 'look', arguments: { day: 'Monday' } }] },
    { items: [{ words: 'Yes, at nine.', ms: 900 }] },
  )
  rig.callerSound(200, { ms: 900, text: null })
  await rig.until(() => rig.toolRequests.length === 1)
  await rig.run(600)
  t.ok(rig.agentSounding, 'the filler')
  t.ok(model.phrases.includes('Let me look.'))
  rig.toolRequests[0]?.done('Free at nine.')
  await rig.until(() => rig.turns('agent').length === 1)
  t.same(model.commands.slice(-3), ['respond', 'tool call_1 Free at nine.', 'respond'])
  t.equal(rig.turns('agent')[0]?.heardText, 'Let me look. Yes, at nine.')
  t.match(rig.eventsOf('tool'), [{ name: 'look', result: 'Free at nine.' }])
  closeAndCheck(rig)
})

t.test('a tool whose reply was interrupted: its call gets an answer, the late result follows', async (t) => {
  const rig = await openRealtimeRig({ spec: { tools: [LOOK] } })
  const model = rig.realtimeModel
  model.transcripts.push({ text: 'Is Monday free?' }, { text: 'No wait, I mean Tuesday.' })
  model.replies.push({ calls: [{ id: 'call_1', name: 'look', arguments: { day: 'Monday' } }] })
  rig.callerSound(200, { ms: 900, text: null })
  await rig.until(() => rig.toolRequests.length === 1)
  await rig.run(600)
  rig.callerSound(0, { ms: 1200, text: null })
  await rig.until(() => rig.eventsOf('interrupted').length === 1)
  await rig.run(100)
  rig.toolRequests[0]?.done('Monday is free.')
  await rig.until(() => rig.turns('agent').length === 2)
  const told = model.commands.filter((order) => /^tool|system/.test(order))
  t.match(told, [
    /^tool call_1 No result yet/,
    /^tell system The result of look, which came late: Monday is free/,
  ])
  closeAndCheck(rig)
})

t.test('end_call: the goodbye is played to its last sample, then the call ends', async (t) => {
  const rig = await openRealtimeRig({ spec: { tools: [END_CALL], hangupLine: 'Goodbye.' } })
  const model = rig.realtimeModel
  model.replies.push({
    items: [{ words: 'See you on Monday.', ms: 1300 }],
    calls: [{ id: 'call_1', name: 'end_call', arguments: {} }],
  })
  rig.callerSound(200, { ms: 900, text: null })
  await rig.until(() => rig.eventsOf('finished').length === 1)
  t.same(
    rig.turns('agent').map(({ heardText }) => heardText),
    ['See you on Monday.', 'Goodbye.'],
  )
  t.equal(rig.sentSamples() / 8, 1300 + 'Goodbye.'.length * 60)
  t.equal(
    rig
      .eventSummary()
      .filter((kind) => kind !== 'usage')
      .at(-1),
    'finished agent_hangup',
  )
  closeAndCheck(rig)
})

t.test('nudges, then the end of the call', async (t) => {
  const rig = await openRealtimeRig({
    spec: {
      hangupLine: 'Goodbye.',
      nudges: {
        enabled: true,
        hangupAfter: true,
        steps: [
          { afterSeconds: 5, text: 'Are you there?' },
          { afterSeconds: 10, text: 'Hello?' },
        ],
      },
    },
  })
  await rig.until(() => rig.eventsOf('finished').length === 1)
  t.same(
    rig.turns('agent').map(({ heardText }) => heardText),
    ['Are you there?', 'Hello?', 'Goodbye.'],
  )
  t.ok(
    rig.realtimeModel.commands.includes('tell assistant Are you there?'),
    'the model knows what was said for it',
  )
  t.match(rig.eventsOf('finished'), [{ why: 'silence' }])
  closeAndCheck(rig)
})

t.test('the maximum duration ends the call with the hang-up phrase', async (t) => {
  const rig = await openRealtimeRig({ spec: { hangupLine: 'Time is up.', maxCallSeconds: 5 } })
  await rig.until(() => rig.eventsOf('finished').length === 1)
  t.same(
    rig.turns('agent').map(({ heardText }) => heardText),
    ['Time is up.'],
  )
  t.match(rig.eventsOf('finished'), [{ why: 'max_duration' }])
  closeAndCheck(rig)
})

t.test('a voicemail is detected by its words before a reply', async (t) => {
  const rig = await openRealtimeRig({ spec: { voicemail: { enabled: true, windowSeconds: 8 } } })
  rig.realtimeModel.transcripts.push({ text: 'Please leave a message after the tone.', afterMs: 400 })
  rig.callerSound(200, { ms: 3000, text: null })
  await rig.until(() => rig.eventsOf('finished').length === 1)
  t.match(rig.eventsOf('finished'), [{ why: 'voicemail' }])
  t.match(rig.eventsOf('answered_by').at(-1), { by: 'voicemail', evidence: 'words' })
  t.same(rig.realtimeModel.commands.slice(-2), ['respond', 'cancel'], 'an answer is not waited for')
  t.equal(rig.sentSamples(), 0, 'nobody talks to a recorder')
  closeAndCheck(rig)
})

t.test('the transcription detects the language and the phrases follow it', async (t) => {
  const rig = await openRealtimeRig({
    spec: {
      languages: ['en-IN', 'hi-IN'],
      tools: [{ ...LOOK, speech: { 'en-IN': 'Let me look.', 'hi-IN': 'मैं देखती हूँ।' } }],
    },
  })
  const model = rig.realtimeModel
  t.equal(model.opened[0]?.language, null)
  model.transcripts.push({ text: 'मुझे सोमवार को डॉक्टर से मिलना है' }, { text: 'क्या सुबह नौ बजे जगह है' })
  model.replies.push(
    { items: [{ words: 'जी, सोमवार को।', ms: 1000 }] },
    { calls: [{ id: 'call_1', name: 'look', arguments: {} }], afterMs: 600 },
  )
  rig.callerSound(200, { ms: 1500, text: null })
  await rig.until(() => rig.turns('agent').length === 1)
  rig.callerSound(300, { ms: 1500, text: null })
  await rig.until(() => rig.toolRequests.length === 1)
  await rig.run(600)
  rig.toolRequests[0]?.done('Free.')
  await rig.until(() => rig.turns('agent').length === 2)
  t.same(
    rig.turns('caller').map(({ language }) => language),
    ['hi-IN', 'hi-IN'],
  )
  t.equal(rig.turns('agent')[0]?.language, 'hi-IN')
  t.match(rig.turns('agent')[1]?.heardText, /^मैं देखती हूँ।/)
  t.equal(model.opened.length, 1, 'the same connection understands both')
  closeAndCheck(rig)
})

t.test('a wideband session behaves the same', async (t) => {
  const rig = await openRealtimeRig({ rate: 16_000 })
  rig.callerSound(200, { ms: 900, text: null })
  await rig.until(() => rig.turns('agent').length === 1)
  t.equal(rig.sentSamples() / 16, 1000)
  closeAndCheck(rig)
})
