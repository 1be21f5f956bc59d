import t from 'tap'
import {
  type CallerSound,
  ConversationRig,
  type RigOptions,
} from '../../../fixtures/rigs/conversation-rig.js'
import type { ToolSpec } from '../agent-spec.js'

const ASKED = 'when are you open'
const OPEN: CallerSound = {
  ms: 900,
  text: 'When are you open?',
  partials: [[400, ASKED]],
  finalAfterMs: 250,
}
const DOOR: ToolSpec = {
  name: 'door',
  description: 'Opens the door',
  parameters: [],
  speech: {},
  action: {
    kind: 'http',
    request: {
      method: 'POST',
      url: 'https://door.example',
      timeoutMs: 8000,
      headers: {},
      bodyFormat: 'json',
      bodyRoot: null,
      auth: null,
      connectionId: null,
    },
  },
}

async function begun(options: RigOptions = {}): Promise<ConversationRig> {
  const rig = new ConversationRig({ speculate: true, ...options })
  await rig.start()
  return rig
}

/** Runs until the VAD has reported the end of speech. The final text is still pending. */
async function stopped(rig: ConversationRig, requests = 1): Promise<void> {
  await rig.until(() => rig.requests.length === requests)
  t.same(rig.turns('caller'), [])
  t.notOk(rig.agentSounding)
}

t.test('asks when the caller stops; the answer is audible only after the final text', async (t) => {
  const rig = await begun()
  rig.modelScripts.push([
    { after: 100, text: 'From nine to six. ' },
    { after: 10, done: true, usage: { promptTokens: 30, completionTokens: 6 } },
  ])
  rig.callerSound(0, OPEN)
  await stopped(rig)
  t.equal(rig.contextLines().at(-1), `user: ${ASKED}`)
  // The answer is complete before the final text arrives.
  await rig.run(160)
  t.notOk(rig.agentSounding)
  t.equal(rig.spoken.length, 0, 'nothing is synthesised for nobody')
  await rig.until(() => rig.turns('agent').length === 1)
  t.equal(rig.requests.length, 1, 'one answer, one request')
  t.equal(rig.abandoned, 0)
  t.equal(rig.turns('caller')[0]?.text, 'When are you open?')
  const [record] = rig.eventsOf('turn_record').map(({ record }) => record)
  t.equal(record?.speculation, 'kept')
  t.same(record?.usage.models, [
    { vendor: 'main', model: 'm', requests: 1, counted: 1, promptTokens: 30, completionTokens: 6 },
  ])
  // The gain is the order: request, token and sentence come before the decision.
  const { modelRequestMs, modelFirstTokenMs, firstSentenceMs, sttFinalMs, decidedMs, ttsRequestMs } =
    record ?? {}
  const order = [modelRequestMs, modelFirstTokenMs, firstSentenceMs, sttFinalMs, decidedMs, ttsRequestMs]
  t.ok(
    order.every((at, i) => at != null && at >= (order[i - 1] ?? 0)),
    String(order),
  )
  t.ok((firstSentenceMs ?? 0) < (decidedMs ?? 0))
  rig.callerSound(300, { ms: 900, text: 'Thank you.' })
  await rig.until(() => rig.turns('agent').length === 2)
  t.same(
    rig.contextLines().slice(0, 2),
    ['user: When are you open?', 'assistant: From nine to six.'],
    'the final words',
  )
  t.equal(rig.close(), 0)
})

t.test('without speculation the model is asked with the final text', async (t) => {
  const rig = await begun({ speculate: false })
  rig.callerSound(0, OPEN)
  await rig.until(() => rig.requests.length === 1)
  t.equal(rig.contextLines().at(-1), 'user: When are you open?')
  const [trace] = rig.eventsOf('turn_record')
  t.equal(trace, undefined)
  rig.close()
})

t.test('different final words discard the speculative answer', async (t) => {
  const rig = await begun()
  rig.modelScripts.push(
    [
      { after: 50, text: 'From nine to six.' },
      { after: 500, done: true },
    ],
    [
      { after: 50, text: 'On Sunday from ten.' },
      { after: 0, done: true },
    ],
  )
  rig.callerSound(0, { ...OPEN, text: 'When are you open on Sunday?' })
  await stopped(rig)
  await rig.until(() => rig.turns('agent').length === 1)
  t.equal(rig.turns('agent')[0]?.text, 'On Sunday from ten.')
  t.equal(rig.requests.length, 2)
  t.equal(rig.abandoned, 1)
  t.same(rig.contextLines(), ['user: When are you open on Sunday?'])
  const [record] = rig.eventsOf('turn_record').map(({ record }) => record)
  t.match(record, { speculation: 'dropped', usage: { models: [{ requests: 2, counted: 0 }] } })
  t.ok((record?.modelRequestMs ?? 0) >= (record?.decidedMs ?? 1e9))
  t.equal(rig.close(), 0)
})

t.test('a caller who continues causes one more request, whose answer is used', async (t) => {
  const rig = await begun()
  rig.modelScripts.push([{ after: 5000, done: true }])
  rig.callerSound(0, { ...OPEN, finalAfterMs: 600 })
  rig.callerSound(1500, { ms: 700, text: 'On Sunday, I mean.', partials: [[300, 'On Sunday I mean']] })
  await stopped(rig)
  await rig.run(400)
  t.equal(rig.abandoned, 1, 'cancelled at the sound, before any word')
  await rig.until(() => rig.turns('agent').length === 1)
  t.equal(rig.requests.length, 2)
  t.equal(rig.contextLines().at(-1), 'user: When are you open? On Sunday I mean', 'before the final text')
  const [record] = rig.eventsOf('turn_record').map(({ record }) => record)
  t.match(record, { speculation: 'kept' })
  t.equal(rig.close(), 0)
})

t.test('tools of a speculative answer run after the decision', async (t) => {
  const rig = await begun({ spec: { tools: [DOOR] } })
  rig.modelScripts.push([
    { after: 20, tools: [{ id: 'c1', name: 'door', arguments: {} }] },
    { after: 0, done: true },
  ])
  rig.callerSound(0, { ...OPEN, text: 'Open the door.', partials: [[300, 'open the door']] })
  await stopped(rig)
  t.equal(rig.requests[0]?.tools.length, 1)
  await rig.run(180)
  t.same(rig.toolRequests, [])
  await rig.until(() => rig.toolRequests.length > 0)
  t.ok(rig.events.length === 0 || rig.turns('agent').length === 0)
  rig.toolRequests[0]?.done('It is open.')
  await rig.until(() => rig.turns('agent').length === 1)
  t.equal(rig.toolRequests.length, 1)
  t.equal(rig.eventsOf('tool').length, 1)
  t.equal(rig.eventsOf('turn_record')[0]?.record.speculation, 'kept')
  t.equal(rig.close(), 0)
})

t.test('tools of a discarded answer never run', async (t) => {
  const rig = await begun({ spec: { tools: [DOOR] } })
  rig.modelScripts.push([
    { after: 20, tools: [{ id: 'c1', name: 'door', arguments: {} }] },
    { after: 0, done: true },
  ])
  rig.callerSound(0, { ...OPEN, text: 'Do not open the door.', partials: [[300, 'open the door']] })
  await rig.until(() => rig.turns('agent').length === 1)
  t.equal(rig.requests.length, 2)
  t.same(rig.toolRequests, [])
  t.equal(rig.eventsOf('tool').length, 0)
  t.equal(rig.close(), 0)
})

t.test('a changed context discards the speculative answer', async (t) => {
  const rig = await begun({ spec: { tools: [DOOR] } })
  rig.modelScripts.push([
    { after: 20, tools: [{ id: 'c1', name: 'door', arguments: {} }] },
    { after: 0, done: true },
  ])
  rig.callerSound(0, { ms: 900, text: 'Open the door.' })
  await rig.until(() => rig.toolRequests.length === 1)
  // The caller speaks while the door is being opened.
  rig.callerSound(0, {
    ms: 1000,
    text: 'Who is there?',
    partials: [[300, 'who is there']],
    finalAfterMs: 400,
  })
  await rig.until(() => rig.requests.length === 2)
  t.equal(rig.turns('agent').length, 0)
  rig.toolRequests[0]?.done('It is open.')
  await rig.until(() => rig.turns('agent').length === 1)
  t.equal(rig.requests.length, 3)
  t.match(JSON.stringify(rig.requests[2]?.messages), /came late: It is open/)
  t.equal(rig.close(), 0)
})

t.test('a failed speculative request is not reported', async (t) => {
  const rig = await begun()
  rig.modelScripts.push([{ after: 50, fail: 'no' }])
  rig.callerSound(0, OPEN)
  await rig.until(() => rig.turns('agent').length === 1)
  t.equal(rig.requests.length, 2)
  t.equal(rig.eventsOf('trouble').length, 0)
  t.equal(rig.turns('agent')[0]?.text, 'Answer 2.')
  t.equal(rig.close(), 0)
})

t.test('incomplete words and keys cause no speculative request', async (t) => {
  const rig = await begun()
  rig.callerSound(0, {
    ms: 900,
    text: 'I want a table and',
    partials: [[300, 'I want a table and']],
    finalAfterMs: 300,
  })
  await rig.run(1400)
  t.equal(rig.requests.length, 0)
  await rig.until(() => rig.turns('agent').length === 1)
  rig.callerSound(300, OPEN)
  await rig.run(700)
  rig.press('4')
  await rig.run(900)
  t.equal(rig.requests.length, 1, 'keys are still being pressed')
  rig.close()
})

t.test('the recogniser detects the end of turn before the VAD', async (t) => {
  const rig = await begun({ endOfUtterance: true })
  rig.callerSound(0, { ...OPEN, ms: 1200 })
  rig.modelScripts.push([{ after: 5000, done: true }])
  await rig.run(700)
  rig.eager()
  await rig.run(20)
  t.equal(rig.requests.length, 1)
  rig.eager(false)
  await rig.run(40)
  t.equal(rig.abandoned, 1, 'it was not the end')
  rig.eager()
  await rig.run(20)
  t.equal(rig.requests.length, 1, 'once a turn')
  await rig.until(() => rig.turns('agent').length === 1)
  t.equal(rig.requests.length, 2)
  t.equal(rig.close(), 0)
})

t.test('a hang-up before the decision leaves nothing running', async (t) => {
  const rig = await begun()
  rig.modelScripts.push([{ after: 50, text: 'From nine.' }])
  rig.callerSound(0, OPEN)
  await stopped(rig)
  t.equal(rig.close(), 0)
  t.equal(rig.abandoned, 1)
  t.equal(rig.turns('caller')[0]?.text, ASKED)
})

t.test('the same words in another language discard the speculative answer', async (t) => {
  const rig = await begun({ spec: { languages: ['en-IN', 'hi-IN'] } })
  // No word of a list: only the recogniser detects the language, with the final text.
  const said = 'Bijnor Unnao Sitapur Kanpur Rampur'
  rig.callerSound(0, { ms: 900, text: said, partials: [[300, said]], language: 'hi-IN' })
  await rig.until(() => rig.turns('agent').length === 1)
  const spoken = rig.requests.map(({ messages }) => /speaks (\w+) now/.exec(messages[0]?.content ?? '')?.[1])
  t.same(spoken, ['English', 'Hindi'])
  t.equal(rig.eventsOf('turn_record')[0]?.record.speculation, 'dropped')
  t.equal(rig.close(), 0)
})
