import t from 'tap'
import {
  type CallerSound,
  ConversationRig,
  type RigOptions,
} from '../../../fixtures/rigs/conversation-rig.js'
import { Outages } from '../../../fixtures/vendors/outages.js'
import type { ToolSpec } from '../agent-spec.js'

const FRAME_MS = 20

const LONG =
  'We are open from nine in the morning until seven in the evening. On Sunday we are closed all day. Shall I book a visit?'

const END_CALL: ToolSpec = {
  name: 'end_call',
  description: 'Ends the call',
  parameters: [],
  speech: {},
  action: { kind: 'end_call' },
}
const SLOTS: ToolSpec = {
  name: 'slots',
  description: 'Free places',
  parameters: [{ name: 'day', description: 'Which day', type: 'string', required: true }],
  speech: {},
  action: { kind: 'mock', response: 'Ten and eleven.' },
}

function say(text: string, ms = 900): CallerSound {
  return { ms, text }
}

async function begun(options: RigOptions = {}): Promise<ConversationRig> {
  const rig = new ConversationRig(options)
  await rig.start()
  return rig
}

/** The agent is in the middle of a long answer. */
async function answering(options: RigOptions = {}, voiceWords = true): Promise<ConversationRig> {
  const rig = await begun(options)
  rig.modelScripts.push([
    { after: 100, text: LONG },
    { after: 0, done: true },
  ])
  rig.speechScripts.push({ words: voiceWords }, { words: voiceWords }, { words: voiceWords })
  rig.callerSound(200, say('When are you open?'))
  await rig.until(() => rig.agentSounding)
  await rig.run(1200)
  t.ok(rig.agentSounding)
  return rig
}

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

t.test(
  'an interruption by words: the rest is never sent, the context holds only what was heard',
  async (t) => {
    const rig = await answering()
    const onset = rig.nowMs
    rig.callerSound(0, {
      ms: 1400,
      text: 'Wait, how much does it cost?',
      partials: [[160, 'Wait']],
    })
    await rig.until(() => !rig.agentSounding)
    t.ok(rig.nowMs - onset <= 120, `paused ${rig.nowMs - onset} ms after the onset`)
    await rig.until(() => rig.eventsOf('interrupted').length === 1)
    const sent = rig.sentSamples()
    const synthesised = rig.spoken.length
    await rig.until(() => rig.requests.length === 2)
    t.equal(rig.sentSamples(), sent, 'not a sample after the pause')
    t.equal(rig.spoken.length, synthesised, 'no sentence of the old answer is synthesised')
    const agent = rig.turns('agent')[0]
    t.equal(agent?.text, LONG)
    t.ok(agent?.cutAtMs)
    t.match(agent?.heardText, /^We are open from/)
    t.ok((agent?.heardText.length ?? 99) < 40)
    t.same(rig.contextLines(), [
      'user: When are you open?',
      `assistant: ${agent?.heardText} [interrupted by the caller]`,
      'user: Wait, how much does it cost?',
    ])
    // The heard words are those whose audio was sent before the cut.
    const heardMs = (agent?.endMs ?? 0) - (agent?.startMs ?? 0)
    const charsSent = heardMs / 60
    t.ok((agent?.heardText.length ?? 0) <= charsSent)
    t.ok((agent?.heardText.length ?? 0) > charsSent - 12, 'to the word')
    await rig.until(() => rig.turns('agent').length === 2)
    t.same(rig.eventSummary().slice(3, 7), [
      `agent: ${agent?.heardText} |`,
      'caller: Wait, how much does it cost?',
      'trace',
      'agent: Answer 2.',
    ])
    t.equal(rig.close(), 0)
  },
)

t.test('an interruption by a long sound without partial texts', async (t) => {
  const rig = await answering({}, false)
  const onset = rig.nowMs
  rig.callerSound(0, { ms: 1500, text: 'Stop please' })
  await rig.until(() => rig.eventsOf('interrupted').length === 1)
  t.ok(rig.nowMs - onset >= 700 && rig.nowMs - onset <= 760)
  const cut = rig.eventsOf('interrupted')[0]?.atMs ?? 0
  t.ok(cut - onset <= 100, 'the cut is where the sound stopped, not where it was decided')
  await rig.until(() => rig.requests.length === 2)
  t.match(rig.contextLines()[1], /^assistant: We are open from [a-z ]* ?\[interrupted by the caller\]$/)
  t.equal(rig.close(), 0)
})

t.test('a cough pauses the speech, which resumes at the same sample', async (t) => {
  const rig = await answering()
  const from = rig.nowMs
  rig.callerSound(0, { ms: 240, text: '' })
  await rig.until(() => !rig.agentSounding)
  await rig.until(() => rig.agentSounding)
  const gap = rig.nowMs - FRAME_MS - (from + 240)
  t.ok(gap < 400, `gap ${gap} ms after the sound ended`)
  t.equal(rig.eventsOf('resumed').length, 1)
  await rig.until(() => rig.turns('agent').length === 1)
  t.same(rig.eventSummary(), ['caller: When are you open?', 'trace', 'resumed', `agent: ${LONG}`])
  t.equal(rig.eventsOf('interrupted').length, 0)
  t.equal(rig.requests.length, 1, 'nothing to answer')
  // The ramp of the first sentence continues over the gap.
  const first = rig.frames.findIndex(({ pcm }) => pcm)
  const heard = rig.frames.slice(first).flatMap(({ pcm }) => (pcm ? [...pcm.slice(40)] : []))
  const pauseFrame = rig.frames.findIndex(({ atMs, pcm }) => atMs > from && !pcm)
  const before = rig.frames[pauseFrame - 2]?.pcm?.at(-1) ?? 0
  const after = rig.frames.slice(pauseFrame).find(({ pcm }) => pcm)?.pcm?.[40] ?? 0
  t.equal((after - 1000 - (before - 1000) + 30_000) % 30_000, 41, 'next sample, after the 5 ms fade-in')
  t.ok(heard.length > 0)
  t.equal(rig.close(), 0)
})
t.test('a backchannel is transcribed and is not a turn', async (t) => {
  const rig = await answering()
  rig.callerSound(0, { ms: 500, text: 'Mm-hmm.', partials: [[300, 'mm-hmm']], finalAfterMs: 80 })
  await rig.until(() => rig.turns('agent').length === 1)
  t.same(rig.eventSummary(), [
    'caller: When are you open?',
    'trace',
    'resumed',
    'caller: Mm-hmm.',
    `agent: ${LONG}`,
  ])
  t.equal(rig.requests.length, 1)
  t.equal(rig.close(), 0)
})

t.test('words that come after a false resume still interrupt', async (t) => {
  const rig = await answering()
  rig.callerSound(0, { ms: 300, text: 'No, Monday.', finalAfterMs: 700 })
  await rig.until(() => rig.eventsOf('resumed').length === 1)
  await rig.until(() => rig.eventsOf('interrupted').length === 1)
  await rig.until(() => rig.requests.length === 2)
  t.equal(rig.contextLines().at(-1), 'user: No, Monday.')
  t.equal(rig.close(), 0)
})

t.test('the agent does not talk over a caller who continues after a breath', async (t) => {
  const rig = await answering()
  const from = rig.nowMs
  // Longer than the silence that resumes the agent, shorter than a VAD offset.
  rig.callerSound(0, { ms: 300, text: 'No, I meant the other one, on Sunday.' })
  rig.callerSound(580, { ms: 1200, text: '' })
  await rig.until(() => rig.eventsOf('resumed').length === 1)
  await rig.until(() => rig.agentSounding)
  await rig.until(() => !rig.agentSounding)
  t.ok(rig.nowMs - (from + 580) <= 80, `silent ${rig.nowMs - from - 580} ms after the caller went on`)
  await rig.until(() => rig.eventsOf('interrupted').length === 1)
  t.ok(rig.nowMs - from < 1200, 'what was said before the breath counts')
  t.ok((rig.eventsOf('interrupted')[0]?.atMs ?? 0) - from <= 620, 'the cut is where the agent stopped')
  await rig.until(() => rig.requests.length === 2)
  t.equal(rig.contextLines().at(-1), 'user: No, I meant the other one, on Sunday.')
  await rig.until(() => rig.turns('caller').length === 2)
  t.equal(rig.turns('caller')[1]?.startMs, from, 'one turn, from its beginning')
  t.equal(rig.close(), 0)
})

t.test('the last frame before a pause or an interruption is flushed early', async (t) => {
  const rig = await answering()
  rig.callerSound(0, { ms: 300, text: 'No, Monday.', finalAfterMs: 700 })
  await rig.until(() => rig.flushEarlyMs.length === 1)
  t.ok(rig.agentSounding, 'the pause is told before the next frame')
  await rig.run(20)
  t.ok(rig.agentSounding)
  const [fade] = rig.frames.slice(-1)
  t.ok(fade?.pcm?.some((sample) => sample !== 0) && fade.pcm.slice(40).every((sample) => sample === 0))
  await rig.until(() => rig.eventsOf('resumed').length === 1)
  // Words interrupt it in mid-speech, without a pause.
  await rig.until(() => rig.eventsOf('interrupted').length === 1)
  t.equal(rig.flushEarlyMs.length, 2)
  await rig.run(20)
  const cut = rig.frames.at(-1)?.pcm
  t.ok(
    cut?.some((sample) => sample !== 0) && cut.slice(40).every((sample) => sample === 0),
    'it fades, no click',
  )
  await rig.run(20)
  t.notOk(rig.agentSounding)
  t.equal(rig.flushEarlyMs.length, 2)
  t.equal(rig.close(), 0)
})

t.test('a caller who continues before the reply makes one turn', async (t) => {
  const rig = await begun()
  rig.modelScripts.push([
    { after: 900, text: 'Too early.' },
    { after: 0, done: true },
  ])
  rig.callerSound(100, say('Can I book'))
  await rig.until(() => rig.requests.length === 1)
  rig.callerSound(60, { ms: 1000, text: 'an appointment for tomorrow?', partials: [[200, 'an']] })
  await rig.until(() => rig.requests.length === 2)
  t.equal(rig.sentSamples(), 0, 'the first answer was never heard')
  t.same(rig.contextLines(), ['user: Can I book an appointment for tomorrow?'])
  await rig.until(() => rig.turns('agent').length === 1)
  t.same(rig.eventSummary(), ['caller: Can I book an appointment for tomorrow?', 'trace', 'agent: Answer 2.'])
  t.equal(rig.close(), 0)
})

t.test('a cough while the model generates delays the reply and does not cancel it', async (t) => {
  const rig = await begun()
  rig.modelScripts.push([
    { after: 300, text: 'Yes, we are.' },
    { after: 0, done: true },
  ])
  rig.callerSound(100, say('Are you open?'))
  await rig.until(() => rig.requests.length === 1)
  rig.callerSound(150, { ms: 300, text: '' })
  await rig.until(() => rig.turns('agent').length === 1)
  t.same(rig.eventSummary(), ['caller: Are you open?', 'trace', 'agent: Yes, we are.'])
  t.equal(rig.requests.length, 1)
  t.equal(rig.close(), 0)
})

t.test('a hello during the opening does not stop it; a question does', async (t) => {
  const spec = { openingLine: 'Good morning, this is Asha from Sunrise Dental. Do you have a minute?' }
  const rig = await begun({ spec })
  rig.callerSound(300, { ms: 450, text: 'Hello?' })
  await rig.until(() => rig.turns('agent').length === 1)
  t.equal(rig.turns('agent')[0]?.heardText, spec.openingLine)
  t.equal(rig.turns('caller')[0]?.text, 'Hello?')
  t.equal(rig.requests.length, 0)
  t.equal(rig.close(), 0)

  const other = await begun({ spec })
  other.callerSound(300, { ms: 1200, text: 'Who is calling please?', partials: [[200, 'Who']] })
  await other.until(() => other.requests.length === 1)
  t.match(other.contextLines()[0], /^assistant: Good .*\[interrupted by the caller\]$/)
  t.equal(other.contextLines()[1], 'user: Who is calling please?')
  t.equal(other.close(), 0)
})

t.test('noise from the start of the call does not silence the agent', async (t) => {
  const openingLine = 'Good morning, this is Asha from Sunrise Dental.'
  const rig = await begun({ spec: { openingLine } })
  rig.callerSound(0, { ms: 60_000, text: '' })
  await rig.run(60)
  await rig.until(() => rig.turns('agent').some(({ heardText }) => heardText === openingLine), 15_000)
  t.ok(rig.nowMs < 10_000, `the whole greeting was heard after ${rig.nowMs} ms`)
  t.ok(rig.longestSilence(0, rig.nowMs) < 5500, 'silent no longer than it takes to call it noise')
  t.equal(rig.close(), 0)
})

t.test('noise interrupts the greeting and ends: the greeting is repeated', async (t) => {
  const openingLine = 'Good morning, this is Asha from Sunrise Dental.'
  const rig = await begun({ spec: { openingLine } })
  rig.callerSound(0, { ms: 1700, text: '', finalAfterMs: 100 })
  await rig.until(() => rig.turns('agent').some(({ heardText }) => heardText === openingLine), 15_000)
  t.ok(rig.longestSilence(0, rig.nowMs) < 2500, 'no dead air')
  t.equal(rig.requests.length, 0)
  t.equal(rig.eventsOf('interrupted').length, 1)
  t.equal(rig.close(), 0)
})

t.test('noise interrupts a reply and ends: the agent asks instead of staying silent', async (t) => {
  const rig = await answering()
  rig.callerSound(0, { ms: 1500, text: '' })
  await rig.until(() => rig.eventsOf('interrupted').length === 1)
  const cutMs = rig.nowMs
  await rig.until(() => rig.agentSounding, 3000)
  t.ok(rig.nowMs - cutMs < 2000)
  await rig.until(() => rig.turns('agent').length === 2)
  t.match(rig.turns('agent')[1]?.heardText, /say it again/)
  // Only words interrupt now: the same noise over the next answer only pauses it.
  rig.modelScripts.push([
    { after: 100, text: LONG },
    { after: 0, done: true },
  ])
  rig.callerSound(300, say('And on Sunday?'))
  await rig.until(() => rig.requests.length === 2)
  await rig.until(() => rig.agentSounding)
  t.equal(rig.close(), 0)
})

t.test('without an opening the caller speaks first', async (t) => {
  const rig = await begun()
  await rig.run(3000)
  t.equal(rig.sentSamples(), 0)
  rig.callerSound(0, say('Hello?'))
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
  rig.callerSound(0, say('Tell me.'))
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
  rig.callerSound(0, say('Hi.'))
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

t.test(
  'the final text is late: the partial text is answered, the final text is not a second turn',
  async (t) => {
    const rig = await begun()
    rig.callerSound(0, {
      ms: 900,
      text: 'Are you open?',
      partials: [[500, 'Are you open']],
      finalAfterMs: 1500,
    })
    await rig.until(() => rig.requests.length === 1)
    const end = rig.eventsOf('turn').length
    t.equal(end, 0)
    t.same(rig.contextLines(), ['user: Are you open'])
    await rig.run(6000)
    t.equal(rig.requests.length, 1)
    t.same(rig.eventSummary(), ['caller: Are you open', 'trace', 'agent: Answer 1.'])
    t.equal(rig.close(), 0)
  },
)

t.test('no text arrives: the agent asks, and the late text is answered', async (t) => {
  const rig = await begun()
  rig.callerSound(0, { ms: 900, text: 'Are you open?', finalAfterMs: 2200 })
  await rig.until(() => rig.agentSounding)
  t.ok(rig.nowMs < 900 + 1500, 'within the deadline')
  t.same(rig.eventSummary(), ['trouble speech_to_text vendor_stalled'])
  await rig.until(() => rig.requests.length === 1)
  t.equal(rig.contextLines().at(-1), 'user: Are you open?')
  t.match(rig.contextLines()[0], /interrupted/)
  t.equal(rig.close(), 0)
})

t.test('the recogniser fails and is reopened; repeated failures end the call with a goodbye', async (t) => {
  const rig = await begun()
  rig.callerSound(0, { ms: 900, text: null })
  await rig.run(700)
  rig.failStt()
  await rig.run(600)
  t.equal(rig.openStreams, 1)
  t.same(rig.eventSummary(), ['trouble speech_to_text vendor_failed'])
  await rig.until(() => rig.turns('agent').length === 1)
  t.match(rig.turns('agent')[0]?.heardText, /say it again/)
  rig.failStt()
  await rig.run(400)
  rig.failStt()
  await rig.until(() => rig.eventsOf('finished').length === 1)
  t.equal(rig.eventsOf('finished')[0]?.why, 'provider_failure')
  t.match(rig.turns('agent').at(-1)?.heardText, /Goodbye/)
  t.equal(rig.clock.pending, 0)
})

t.test('no recogniser works: the agent asks to repeat, offers DTMF, says goodbye', async (t) => {
  const rig = await begun()
  for (let i = 1; i <= 3; i++) {
    rig.callerSound(300, { ms: 900, text: null })
    await rig.until(() => rig.turns('agent').length === i)
  }
  const [first, second, third] = rig.turns('agent').map(({ heardText }) => heardText)
  t.match(first, /say it again/)
  t.match(second, /use the keys/)
  t.match(third, /Goodbye/)
  await rig.until(() => rig.eventsOf('finished').length === 1)
  t.equal(rig.eventsOf('finished')[0]?.why, 'provider_failure')
  t.equal(rig.close(), 0)
})

t.test('a slow model: a filler, then its reply', async (t) => {
  const outages = new Outages({ 'language_model main': 'slow' })
  const rig = await begun({
    vendors: (own, rig) => {
      const { languageModel } = outages.vendors(own, rig)
      // Its declared deadline is longer than a caller would wait in silence.
      return { ...own, languageModel: (id) => ({ ...languageModel(id), firstTokenDeadlineMs: 3000 }) }
    },
  })
  rig.callerSound(0, say('Are you open?'))
  await rig.until(() => rig.agentSounding)
  t.ok(rig.nowMs <= 900 + 300 + 100 + 1200 + 200, `spoke at ${rig.nowMs} ms`)
  await rig.until(() => rig.turns('agent').length === 1)
  t.equal(rig.turns('agent')[0]?.heardText, 'One moment please. Answer of main.')
  t.equal(outages.times('language_model', 'main'), 1, 'asked once')
  t.equal(rig.eventsOf('trouble').length, 0)
  t.equal(rig.close(), 0)
})

t.test('a stalled model: an apology within 1.5 s, then the reply of the second attempt', async (t) => {
  const rig = await begun()
  rig.modelScripts.push([{ after: 60_000, text: 'never' }])
  rig.callerSound(0, say('Are you open?'))
  await rig.until(() => rig.requests.length === 1)
  const asked = rig.nowMs
  await rig.until(() => rig.agentSounding)
  t.ok(rig.nowMs - asked <= 1300, `${rig.nowMs - asked} ms`)
  await rig.until(() => rig.turns('agent').length === 1)
  t.same(rig.eventSummary(), [
    'trouble language_model vendor_stalled',
    'caller: Are you open?',
    'trace',
    'agent: Sorry, I am having trouble. One moment please. Answer 2.',
  ])
  t.same(rig.contextLines(), ['user: Are you open?'])
  t.equal(rig.close(), 0)
})

t.test('a model that only reasons counts as stalled', async (t) => {
  const rig = await begun()
  rig.modelScripts.push([
    { after: 100, text: '<think>Let me' },
    ...Array.from({ length: 40 }, () => ({ after: 200, text: ' think' })),
  ])
  rig.callerSound(0, say('Are you open?'))
  await rig.until(() => rig.requests.length === 2)
  t.match(rig.eventsOf('trouble'), [{ part: 'language_model', code: 'vendor_stalled' }])
  await rig.until(() => rig.turns('agent').length === 1)
  t.match(rig.turns('agent')[0]?.heardText, /Answer 2\.$/)
  t.equal(rig.close(), 0)
})

t.test('a quick failure is retried silently', async (t) => {
  const rig = await begun()
  rig.modelScripts.push([{ after: 30, fail: 'HTTP 500' }])
  rig.callerSound(0, say('Are you open?'))
  await rig.until(() => rig.turns('agent').length === 1)
  t.same(rig.eventSummary(), [
    'trouble language_model vendor_failed',
    'caller: Are you open?',
    'trace',
    'agent: Answer 2.',
  ])
  t.equal(rig.close(), 0)
})

t.test('a model that stays down: apology, goodbye, provider_failure, no dead air', async (t) => {
  const rig = await begun()
  for (let i = 0; i < 5; i++) rig.modelScripts.push([{ after: 30, fail: 'HTTP 500' }])
  rig.callerSound(0, say('Are you open?'))
  await rig.until(() => rig.eventsOf('finished').length === 1)
  t.equal(rig.requests.length, 5)
  const failedMs = rig.eventsOf('trouble').map(({ atMs }) => atMs)
  t.equal(failedMs.length, 5)
  t.ok((failedMs[4] ?? 0) - (failedMs[0] ?? 0) > 2400, `not given up within a moment: ${failedMs}`)
  t.ok((rig.turns('agent')[0]?.startMs ?? 0) - (failedMs[0] ?? 0) < 1000, 'the caller is told meanwhile')
  t.match(rig.turns('agent')[0]?.heardText, /^Sorry, I am having trouble.*Goodbye\.$/)
  t.equal(rig.eventsOf('finished')[0]?.why, 'provider_failure')
  t.ok(rig.longestSilence(900, rig.nowMs) < 3000)
  t.equal(rig.clock.pending, 0)
  await rig.run(200)
  t.notOk(rig.agentSounding)
})

t.test('a model that recovers within two seconds: an apology, then its answer', async (t) => {
  const rig = await begun()
  for (let i = 0; i < 4; i++) rig.modelScripts.push([{ after: 10, fail: 'HTTP 503' }])
  rig.callerSound(0, say('Are you open?'))
  await rig.until(() => rig.turns('agent').length === 1)
  t.match(rig.turns('agent')[0]?.heardText, /^Sorry, I am having trouble\. One moment please\. Answer 5\.$/)
  t.ok(rig.longestSilence(900, rig.nowMs) < 1500)
  t.same(rig.eventsOf('finished'), [])
  t.equal(rig.close(), 0)
})

t.test('a stream closes early: complete sentences are spoken, then the apology', async (t) => {
  const rig = await begun()
  rig.modelScripts.push([
    { after: 100, text: 'We open at nine in the morning. On Sun' },
    { after: 50, fail: 'connection reset' },
  ])
  rig.callerSound(0, say('Are you open?'))
  await rig.until(() => rig.turns('agent').length === 1)
  t.equal(
    rig.turns('agent')[0]?.heardText,
    'We open at nine in the morning. Sorry, I am having trouble. One moment please.',
  )
  rig.callerSound(500, say('And on Sunday?'))
  await rig.until(() => rig.turns('agent').length === 2)
  t.equal(rig.turns('agent')[1]?.heardText, 'Answer 2.')
  t.equal(rig.close(), 0)
})

t.test('the model stalls after some sentences: no silence longer than 3 s', async (t) => {
  const rig = await begun()
  rig.modelScripts.push([{ after: 100, text: 'We open at nine. ' }])
  rig.callerSound(0, say('Are you open?'))
  await rig.until(() => rig.turns('agent').length === 1)
  t.match(rig.turns('agent')[0]?.heardText, /^We open at nine\. Sorry/)
  t.ok(rig.longestSilence(900, rig.nowMs) < 3000)
  t.equal(rig.close(), 0)
})

t.test('synthesis: a retry, then the embedded voice for the rest of the call', async (t) => {
  const rig = await begun()
  rig.speechScripts.push({ fail: 'HTTP 500' }, { fail: 'HTTP 500' })
  rig.callerSound(0, say('Are you open?'))
  await rig.until(() => rig.turns('agent').length === 1)
  t.same(rig.eventSummary(), [
    'trouble text_to_speech vendor_failed',
    'trouble text_to_speech vendor_failed',
    'caller: Are you open?',
    'trace',
    'agent: Answer 1.',
  ])
  t.same(
    rig.spoken.slice(-3).map(({ voice }) => voice),
    ['v', 'v', 'asha'],
  )
  rig.callerSound(300, say('Good.'))
  await rig.until(() => rig.turns('agent').length === 2)
  t.equal(rig.spoken.at(-1)?.voice, 'asha')
  t.equal(rig.close(), 0)
})

t.test('synthesis stalls: the embedded voice speaks after one deadline', async (t) => {
  const rig = await begun()
  rig.speechScripts.push({ stall: true })
  rig.callerSound(0, say('Are you open?'))
  await rig.until(() => rig.requests.length === 1)
  const asked = rig.nowMs
  await rig.until(() => rig.agentSounding)
  t.ok(rig.nowMs - asked < 1100)
  // The first timeout is tolerated, the second is not.
  const voices: string[][] = []
  for (const stall of [false, true, false]) {
    await rig.run(2000)
    if (stall) rig.speechScripts.push({ stall })
    const from = rig.spoken.length
    const before = rig.turns('agent').length
    rig.callerSound(300, say('And on Sunday?'))
    await rig.until(() => rig.turns('agent').length > before)
    voices.push(rig.spoken.slice(from).map(({ voice }) => voice))
  }
  t.same(voices, [['v'], ['v', 'asha'], ['asha']])
  t.equal(rig.close(), 0)
})

t.test('synthesis fails within a sentence: the next voice speaks the rest', async (t) => {
  const rig = await begun()
  rig.modelScripts.push([
    { after: 50, text: 'We open at nine and close at seven.' },
    { after: 0, done: true },
  ])
  rig.speechScripts.push({ breakAfterMs: 900, fail: 'reset', words: true }, { fail: 'reset' })
  rig.callerSound(0, say('Are you open?'))
  await rig.until(() => rig.turns('agent').length === 1)
  t.same(
    rig.spoken.map(({ text }) => text).slice(-3),
    ['We open at nine and close at seven.', 'nine and close at seven.', 'nine and close at seven.'].map(
      (text) => text,
    ),
  )
  t.equal(rig.turns('agent')[0]?.heardText, 'We open at nine and close at seven.')
  t.equal(rig.close(), 0)
})

t.test('a vendor with a different sample rate', async (t) => {
  const rig = await begun()
  rig.speechScripts.push({ rate: 24000 })
  rig.callerSound(0, say('Are you open?'))
  await rig.until(() => rig.turns('agent').length === 1)
  const { startMs = 0, endMs = 0 } = rig.turns('agent')[0] ?? {}
  t.ok(Math.abs(endMs - startMs - 'Answer 1.'.length * 60) <= 20, `${endMs - startMs} ms of speech`)
  t.equal(rig.turns('agent')[0]?.heardText, 'Answer 1.')
  t.equal(rig.close(), 0)
})

t.test('a synthesis slower than real time: gaps, but no lost word and no dead air', async (t) => {
  const rig = await begun()
  rig.modelScripts.push([
    { after: 50, text: 'We open at nine and close at seven.' },
    { after: 0, done: true },
  ])
  rig.speechScripts.push({ speed: 0.7, words: true })
  rig.callerSound(0, say('Are you open?'))
  await rig.until(() => rig.turns('agent').length === 1)
  const turn = rig.turns('agent')[0]
  t.equal(turn?.heardText, 'We open at nine and close at seven.')
  t.ok(rig.longestSilence(turn?.startMs ?? 0, turn?.endMs ?? 0) < 200)
  t.equal(rig.eventsOf('trouble').length, 0)
  const words = turn?.words ?? []
  t.equal(words.length, 8)
  t.ok((words[7]?.startMs ?? 0) - (turn?.startMs ?? 0) > 29 * 60 * 1.2, 'word times are those of the wire')
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

t.test('the call ends when no voice works', async (t) => {
  const rig = await begun()
  rig.speechScripts.push({ fail: 'x' }, { fail: 'x' })
  rig.fallbackSpeechScripts.push({ fail: 'x' }, { fail: 'x' })
  rig.callerSound(0, say('Are you open?'))
  await rig.until(() => rig.eventsOf('finished').length === 1)
  t.same(rig.eventSummary().slice(4), ['caller: Are you open?', 'finished provider_failure'])
  t.equal(rig.clock.pending, 0)
})

t.test('a tool answers the model, within the same turn', async (t) => {
  const rig = await begun({ spec: { tools: [SLOTS] } })
  rig.modelScripts.push(
    [
      { after: 50, text: 'Let me look.' },
      { after: 10, tools: [{ id: 'c1', name: 'slots', arguments: { day: 'Monday' } }] },
      { after: 0, done: true },
    ],
    [
      { after: 200, text: 'Ten or eleven is free.' },
      { after: 0, done: true },
    ],
  )
  rig.callerSound(0, say('Is Monday free?'))
  await rig.until(() => rig.turns('agent').length === 1)
  t.same(rig.eventSummary(), [
    'tool slots',
    'caller: Is Monday free?',
    'trace',
    'agent: Let me look. Ten or eleven is free.',
  ])
  t.same(rig.requests[1]?.messages.slice(1), [
    { role: 'user', content: 'Is Monday free?' },
    {
      role: 'assistant',
      content: 'Let me look.',
      toolCalls: [{ id: 'c1', name: 'slots', arguments: { day: 'Monday' } }],
    },
    { role: 'tool', toolCallId: 'c1', content: 'Ten and eleven.' },
  ])
  rig.callerSound(300, say('Ten.'))
  await rig.until(() => rig.requests.length === 3)
  t.same(
    rig.requests[2]?.messages.slice(2).map(({ role, content }) => [role, content]),
    [
      ['assistant', null],
      ['tool', 'Ten and eleven.'],
      ['assistant', 'Let me look. Ten or eleven is free.'],
      ['user', 'Ten.'],
    ],
  )
  t.equal(rig.close(), 0)
})

t.test('tool rounds are bounded', async (t) => {
  const rig = await begun({ spec: { tools: [SLOTS] } })
  for (let i = 0; i < 12; i++) {
    rig.modelScripts.push([
      { after: 20, tools: [{ id: `c${i}`, name: 'slots', arguments: { day: 'x' } }] },
      { after: 0, done: true },
    ])
  }
  rig.callerSound(0, say('Is Monday free?'))
  await rig.until(() => rig.eventsOf('finished').length === 1)
  t.ok(rig.requests.length <= 8, `${rig.requests.length} requests`)
  t.same(rig.requests.at(-1)?.tools, [], 'in the end no tools are offered')
  t.equal(rig.clock.pending, 0)
})

t.test('end_call: the reply and the hang-up phrase are sent completely', async (t) => {
  const rig = await begun({ spec: { tools: [END_CALL], hangupLine: 'Have a pleasant day.' } })
  rig.modelScripts.push([
    { after: 50, text: 'Thank you for calling.' },
    { after: 10, tools: [{ id: 'c1', name: 'end_call', arguments: {} }] },
    { after: 0, done: true },
  ])
  rig.callerSound(0, say('That is all.'))
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
  rig.callerSound(0, say('That is all.'))
  await rig.until(() => rig.agentSounding)
  rig.callerSound(600, { ms: 900, text: 'One more question.', partials: [[200, 'One more']] })
  await rig.until(() => rig.turns('agent').length === 2)
  t.equal(rig.eventsOf('finished').length, 0)
  t.equal(rig.turns('agent')[1]?.heardText, 'Answer 2.')
  t.equal(rig.close(), 0)
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
  rig.callerSound(1000, say('Yes, sorry.'))
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
    { after: 50, text: LONG },
    { after: 0, done: true },
  ])
  rig.callerSound(1500, say('Tell me everything.'))
  await rig.until(() => rig.eventsOf('finished').length === 1)
  t.same(rig.eventSummary().slice(0, 2), ['caller: Tell me everything.', 'trace'])
  t.ok((rig.turns('agent')[0]?.heardText.length ?? 999) < LONG.length)
  t.same(rig.eventSummary().slice(3), ['agent: Time is up.', 'finished max_duration'])
  t.ok(rig.nowMs < 8000, 'the phrase is part of the call')
  t.equal(rig.clock.pending, 0)
})

t.test('a hang-up phrase longer than estimated is cut when the call has to end', async (t) => {
  const rig = await begun({ spec: { maxCallSeconds: 5, hangupLine: LONG } })
  await rig.until(() => rig.eventsOf('finished').length === 1)
  t.match(rig.eventsOf('finished'), [{ why: 'max_duration' }])
  const [line] = rig.turns('agent')
  t.ok(LONG.startsWith(line?.heardText ?? ' ') && line?.heardText !== LONG, `${line?.heardText}`)
  t.ok(rig.nowMs > 4000 && rig.nowMs <= 5000, `${rig.nowMs}`)
  t.equal(rig.clock.pending, 0)
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

t.test('without recognition the agent says so once, and DTMF works', async (t) => {
  const rig = await begun({ understandsSpeech: false, spec: { openingLine: 'Hello.' } })
  await rig.until(() => rig.turns('agent').length === 1)
  rig.callerSound(300, say('Hello, who is this?'))
  await rig.until(() => rig.turns('agent').length === 2)
  t.match(rig.turns('agent')[1]?.heardText, /keys of your phone/)
  rig.callerSound(300, say('What?'))
  await rig.run(6000)
  t.equal(rig.turns('agent').length, 2, 'only once')
  rig.press('1')
  await rig.until(() => rig.turns('agent').length === 3)
  t.equal(rig.contextLines().at(-1), 'user: 1')
  t.equal(rig.eventsOf('trouble').length, 0)
  t.equal(rig.close(), 0)
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
