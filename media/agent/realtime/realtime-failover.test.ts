import t from 'tap'
import type { ConversationRig, RigOptions } from '../../../fixtures/rigs/conversation-rig.js'
import {
  closeAndCheck,
  openRealtimeRig,
  type RealtimeRig,
  TEN_SECOND_ANSWER,
} from '../../../fixtures/rigs/realtime-rig.js'
import type { ScriptedRealtimeOptions } from '../../../fixtures/vendors/scripted-realtime-model.js'
import type { AgentSpec, FallbackVendors, ToolSpec } from '../agent-spec.js'
import type { Vendors } from '../vendor-ports.js'

/* A speech-to-speech model is given up: STT, LLM and TTS continue its conversation. */

const FALLBACKS: FallbackVendors = {
  speechToText: [{ vendor: 'main', model: null, mode: 'transcribe', languages: ['en-IN', 'hi-IN'] }],
  languageModel: [{ vendor: 'main', model: 'm' }],
  textToSpeech: [{ vendor: 'second', model: null, voice: 'w', pace: 1, languages: ['en-IN', 'hi-IN'] }],
}
const LOOK: ToolSpec = {
  name: 'look',
  description: 'Looks something up',
  parameters: [],
  speech: {},
  action: { kind: 'mock', response: 'Sunday is free.' },
}

/** The fallback recogniser transcribes all audio, also audio that it receives later. */
const knowing = (own: Vendors, rig: ConversationRig): Vendors => ({
  ...own,
  speechToText: (id) => ({
    id,
    open: (options, events) => ({
      ...own.speechToText(id).open(options, { ...events, final: () => {} }),
      utteranceEnd: (atMs) => {
        const text = rig.soundEndingAt(atMs)?.text ?? ''
        rig.after(100, () => events.final(text, null))
      },
    }),
  }),
})

async function call(
  spec: Partial<AgentSpec> = {},
  model: ScriptedRealtimeOptions = {},
  options: RigOptions = {},
): Promise<RealtimeRig> {
  return openRealtimeRig({ vendors: knowing, ...options, spec: { fallbacks: FALLBACKS, ...spec } }, model)
}

function ask(rig: RealtimeRig, text: string, inMs = 300): void {
  rig.realtimeModel.transcripts.push({ text })
  rig.callerSound(inMs, { ms: 900, text })
}

const talk = (rig: RealtimeRig) => rig.eventSummary().filter((kind) => /^(agent|caller|finished)/.test(kind))

t.test('after two failures the fallback model continues with the full context', async (t) => {
  const rig = await call({ openingLine: 'Hello.' })
  const model = rig.realtimeModel
  await rig.until(() => rig.turns('agent').length === 1)
  ask(rig, 'When are you open?')
  await rig.until(() => rig.turns('agent').length === 2)
  model.replies.push({ fail: 'vendor_failed' }, { fail: 'vendor_failed' })
  ask(rig, 'And on Sunday?')
  await rig.until(() => rig.turns('agent').length === 3)
  t.same(rig.contextLines(rig.requests[0]), [
    'assistant: Hello.',
    'user: When are you open?',
    'assistant: Answer 1.',
    'user: And on Sunday?',
  ])
  t.equal(rig.requests[0]?.messages[0]?.content, model.opened[0]?.instructions, 'the same prompt')
  t.equal(model.connections, 0, 'nothing is left of the first model')
  t.same(rig.breakers.openKeys(), [], 'two quick failures are not enough')
  t.match(rig.eventsOf('trouble'), [
    { part: 'language_model', vendor: 'openai-realtime' },
    { part: 'speech_to_text', vendor: 'openai-realtime', instead: 'main' },
    { part: 'language_model', vendor: 'openai-realtime', instead: 'main m' },
  ])
  ask(rig, 'Thank you.')
  await rig.until(() => rig.turns('agent').length === 4)
  t.same(talk(rig), [
    'agent: Hello.',
    'caller: When are you open?',
    'agent: Answer 1.',
    'caller: And on Sunday?',
    'agent: Sorry, I am having trouble. One moment please. Answer 1.',
    'caller: Thank you.',
    'agent: Answer 2.',
  ])
  t.same(rig.contextLines().slice(-3), [
    'user: And on Sunday?',
    'assistant: Sorry, I am having trouble. One moment please. Answer 1.',
    'user: Thank you.',
  ])
  t.equal(rig.eventsOf('trouble').length, 3, 'no more trouble after it')
  t.match(rig.spoken.at(-1), { voice: 'w', text: 'Answer 2.' }, 'the fallback voice speaks')
  t.equal(model.opened.length, 1, 'it is not asked again in this call')
  closeAndCheck(rig)
})

t.test('a rejected API key: the fallback continues from the first word', async (t) => {
  const refusals = Array.from({ length: 20 }, () => 'vendor_rejected' as const)
  const rig = await call({ openingLine: 'Hello.' }, { refusals })
  await rig.until(() => rig.turns('agent').length === 1)
  ask(rig, 'When are you open?')
  await rig.until(() => rig.turns('agent').length === 2)
  t.same(talk(rig), ['agent: Hello.', 'caller: When are you open?', 'agent: Answer 1.'])
  t.ok(rig.realtimeModel.opened.length <= 4, `${rig.realtimeModel.opened.length} connections`)
  closeAndCheck(rig)
})

t.test(
  'the model fails while the caller speaks: the fallback hears the utterance from its start and answers',
  async (t) => {
    const rig = await call({}, { refusals: [] })
    const model = rig.realtimeModel
    await rig.run(500)
    rig.callerSound(0, { ms: 1500, text: 'Can I come tomorrow?' })
    await rig.run(700)
    model.refusals.push('vendor_unreachable', 'vendor_unreachable', 'vendor_unreachable')
    model.break()
    await rig.until(() => rig.turns('agent').length === 1)
    t.same(talk(rig), ['caller: Can I come tomorrow?', 'agent: Answer 1.'])
    t.same(rig.contextLines(), ['user: Can I come tomorrow?'])
    closeAndCheck(rig)
  },
)

t.test('one lost connection does not cause a failover', async (t) => {
  const rig = await call()
  const model = rig.realtimeModel
  for (let turn = 1; turn <= 4; turn++) {
    await rig.run(500)
    model.break()
    ask(rig, `Question ${turn}?`, 500)
    await rig.until(() => rig.turns('agent').length === turn)
  }
  t.equal(rig.requests.length, 0, 'nobody else was asked')
  t.equal(model.opened.length, 5)
  t.same(model.violations, [])
  closeAndCheck(rig)
})

t.test(
  'the model fails during its reply: the received part is played, the fallback takes the next turn',
  async (t) => {
    const rig = await call()
    const model = rig.realtimeModel
    model.replies.push({ items: [{ words: TEN_SECOND_ANSWER, ms: 4000 }], endless: true })
    ask(rig, 'When are you open?')
    await rig.until(() => rig.agentSounding)
    await rig.run(500)
    model.refusals.push(...Array.from({ length: 9 }, () => 'vendor_unreachable' as const))
    model.break()
    await rig.until(() => rig.turns('agent').length === 1)
    t.match(
      rig.turns('agent')[0]?.heardText,
      new RegExp(`^${TEN_SECOND_ANSWER.replaceAll('.', '\\.')} Sorry, I am having trouble`),
    )
    ask(rig, 'And on Sunday?')
    await rig.until(() => rig.turns('agent').length === 2)
    t.match(rig.contextLines(), [
      'user: When are you open?',
      /^assistant: We are open/,
      'user: And on Sunday?',
    ])
    t.equal(rig.turns('agent')[1]?.heardText, 'Answer 1.')
    closeAndCheck(rig)
  },
)

t.test('untranscribed speech is given to the fallback recogniser', async (t) => {
  const rig = await call()
  const model = rig.realtimeModel
  model.transcripts.push({ text: 'When are you open?', afterMs: 60_000 })
  model.replies.push({ fail: 'vendor_failed' }, { fail: 'vendor_failed' })
  rig.callerSound(300, { ms: 900, text: 'When are you open?' })
  await rig.until(() => rig.turns('agent').length === 2)
  // The apology had just begun.
  t.same(talk(rig), ['caller: […]', 'agent:  |', 'caller: When are you open?', 'agent: Answer 1.'])
  t.equal(rig.contextLines().at(-1), 'user: When are you open?')
  closeAndCheck(rig)
})

t.test('the fallback model is informed about words that cannot be recovered', async (t) => {
  const rig = await call()
  const model = rig.realtimeModel
  model.transcripts.push({ text: null })
  model.replies.push({ fail: 'vendor_failed', afterMs: 900 }, { fail: 'vendor_failed' })
  rig.callerSound(300, { ms: 900, text: '' })
  await rig.until(() => rig.turns('agent').length === 1)
  t.match(rig.contextLines(), [/^user: \[.*not known.*Ask for it again/])
  t.equal(rig.turns('caller')[0]?.heardText, '[…]')
  closeAndCheck(rig)
})

t.test('the fallback model does not repeat a completed tool call', async (t) => {
  const rig = await call({ tools: [LOOK] })
  const model = rig.realtimeModel
  model.replies.push(
    { calls: [{ id: 'c1', name: 'look', arguments: {} }] },
    { fail: 'vendor_failed' },
    { fail: 'vendor_failed' },
  )
  ask(rig, 'Is Sunday free?')
  await rig.until(() => rig.turns('agent').length === 1)
  t.equal(rig.eventsOf('tool').length, 1)
  t.same(
    rig.requests[0]?.messages.slice(1).map(({ role, content }) => `${role}: ${content}`),
    ['user: Is Sunday free?', 'assistant: null', 'tool: Sunday is free.'],
  )
  closeAndCheck(rig)
})

t.test(
  'the model stays silent: the caller hears an apology and then the reply, without dead air',
  async (t) => {
    const rig = await call()
    rig.realtimeModel.replies.push({ stall: true }, { stall: true }, { stall: true })
    ask(rig, 'When are you open?')
    await rig.until(() => rig.turns('agent').length === 1)
    t.match(rig.turns('agent')[0]?.heardText, /One moment please\..*Answer 1\.$/)
    const endMs = rig.turns('caller')[0]?.endMs ?? 0
    t.ok(rig.longestSilence(endMs, rig.nowMs) <= 3000, 'no dead air')
    closeAndCheck(rig)
  },
)

t.test('barge-in, nudges and the end work as usual after a failover', async (t) => {
  const rig = await call({
    hangupLine: 'Goodbye then.',
    nudges: { enabled: true, hangupAfter: true, steps: [{ afterSeconds: 2, text: 'Are you there?' }] },
  })
  rig.realtimeModel.replies.push({ fail: 'vendor_failed' }, { fail: 'vendor_failed' })
  rig.modelScripts.push([
    { after: 100, text: TEN_SECOND_ANSWER },
    { after: 0, done: true },
  ])
  ask(rig, 'When are you open?')
  await rig.until(() => rig.spoken.some(({ text }) => text === TEN_SECOND_ANSWER))
  await rig.run(5000)
  t.ok(rig.agentSounding)
  rig.callerSound(0, { ms: 1200, text: 'Stop please.' })
  await rig.until(() => rig.eventsOf('interrupted').length === 1)
  await rig.until(() => rig.eventsOf('finished').length === 1)
  t.same(talk(rig).slice(-5), [
    'caller: Stop please.',
    'agent: Answer 2.',
    'agent: Are you there?',
    'agent: Goodbye then.',
    'finished silence',
  ])
  t.match(rig.contextLines(), [/./, /\[interrupted by the caller\]$/, 'user: Stop please.'])
  t.match(rig.eventsOf('finished'), [{ why: 'silence' }])
  closeAndCheck(rig)
})

t.test('when all models have failed, the call ends with a phrase', async (t) => {
  const rig = await call()
  rig.realtimeModel.replies.push({ fail: 'vendor_failed' }, { fail: 'vendor_failed' })
  for (let i = 0; i < 10; i++) rig.modelScripts.push([{ after: 30, fail: 'HTTP 500' }])
  ask(rig, 'When are you open?')
  await rig.until(() => rig.eventsOf('finished').length === 1)
  t.match(rig.turns('agent').at(-1)?.heardText, /One moment please\..*technical problem/)
  t.match(rig.eventsOf('finished'), [{ why: 'provider_failure' }])
  closeAndCheck(rig)
})
