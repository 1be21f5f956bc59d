import t from 'tap'
import { ConversationRig } from '../../../fixtures/rigs/conversation-rig.js'
import { begun, saying } from '../../../fixtures/rigs/conversation-starts.js'
import type { ToolSpec } from '../agent-spec.js'
import type { ToolCall } from '../vendor-ports.js'

/* Tools: rounds and their results; what the caller hears while a slow tool runs, and what a barge-in does to it. */

const ORDER: ToolSpec = {
  name: 'order',
  description: 'Looks an order up',
  parameters: [],
  speech: { 'en-IN': 'Let me look at your order.' },
  action: {
    kind: 'http',
    request: {
      method: 'GET',
      url: 'https://crm.example/orders',
      timeoutMs: 20_000,
      headers: {},
      bodyFormat: 'json',
      bodyRoot: null,
      auth: null,
      connectionId: null,
    },
  },
}
const SLOTS: ToolSpec = {
  name: 'slots',
  description: 'Free places',
  parameters: [{ name: 'day', description: 'Which day', type: 'string', required: true }],
  speech: {},
  action: { kind: 'mock', response: 'Ten and eleven.' },
}
const MUTE_ORDER: ToolSpec = { ...ORDER, speech: {} }
const CALL: ToolCall = { id: 'c1', name: 'order', arguments: {} }

/** The model has called the tool and its request is running. */
async function waiting(tool: ToolSpec): Promise<ConversationRig> {
  const rig = new ConversationRig({ spec: { tools: [tool] } })
  await rig.start()
  rig.modelScripts.push([
    { after: 100, tools: [CALL] },
    { after: 0, done: true },
  ])
  rig.callerSound(200, { ms: 900, text: 'Where is my order?' })
  await rig.until(() => rig.toolRequests.length === 1)
  return rig
}

function answerWith(rig: ConversationRig, text: string): void {
  rig.modelScripts.push([
    { after: 100, text },
    { after: 0, done: true },
  ])
}

t.test('the filler is said at once, the answer follows in the same turn', async (t) => {
  const rig = await waiting(ORDER)
  t.same(rig.toolRequests[0]?.request, { tool: 'order', arguments: {}, timeoutMs: 20_000 })
  await rig.until(() => rig.agentSounding)
  answerWith(rig, 'It arrives tomorrow.')
  await rig.run(500)
  rig.toolRequests[0]?.done('{"arrives":"tomorrow"}')
  await rig.until(() => rig.turns('agent').length === 1)
  t.equal(rig.turns('agent')[0]?.heardText, 'Let me look at your order. It arrives tomorrow.')
  t.match(rig.requests.at(-1)?.messages.at(-1), {
    role: 'tool',
    toolCallId: 'c1',
    content: '{"arrives":"tomorrow"}',
  })
  t.match(
    rig.events.filter(({ type }) => type === 'tool'),
    [{ name: 'order', result: '{"arrives":"tomorrow"}' }],
  )
  t.equal(rig.toolRequests.length, 1)
})

t.test('a filler that waits behind other text is dropped when the result has come', async (t) => {
  for (const resultAfterMs of [0, 100, 1200]) {
    const rig = new ConversationRig({ spec: { tools: [ORDER] } })
    await rig.start()
    rig.modelScripts.push([
      { after: 100, text: 'Of course, that is no problem at all.' },
      { after: 50, tools: [CALL] },
      { after: 0, done: true },
    ])
    rig.callerSound(200, { ms: 900, text: 'Where is my order?' })
    await rig.until(() => rig.toolRequests.length === 1 && rig.agentSounding)
    answerWith(rig, 'It arrives tomorrow.')
    await rig.run(resultAfterMs)
    rig.toolRequests[0]?.done('{"arrives":"tomorrow"}')
    await rig.until(() => rig.turns('agent').length === 1)
    t.equal(
      rig.turns('agent')[0]?.heardText,
      'Of course, that is no problem at all. It arrives tomorrow.',
      `${resultAfterMs} ms`,
    )
    t.equal(rig.close(), 0)
  }
})

t.test('without a filler of its own, built-in phrases keep the silence under 3 s', async (t) => {
  const rig = await waiting(MUTE_ORDER)
  const askedAt = rig.nowMs
  await rig.run(14_000)
  t.ok(rig.longestSilence(askedAt, rig.nowMs) <= 3000, `${rig.longestSilence(askedAt, rig.nowMs)} ms`)
  answerWith(rig, 'It arrives tomorrow.')
  rig.toolRequests[0]?.done('Tomorrow.')
  await rig.until(() => rig.turns('agent').length === 1)
  t.match(
    rig.turns('agent')[0]?.heardText,
    /^One moment please\. (Sorry, this is taking a little longer\. Please stay on the line\. ){2,3}It arrives tomorrow\.$/,
  )
})

t.test('a quick tool needs no filler', async (t) => {
  const rig = await waiting(MUTE_ORDER)
  answerWith(rig, 'It arrives tomorrow.')
  await rig.run(300)
  rig.toolRequests[0]?.done('Tomorrow.')
  await rig.until(() => rig.turns('agent').length === 1)
  t.equal(rig.turns('agent')[0]?.heardText, 'It arrives tomorrow.')
})

t.test('a caller who speaks before any reply was audible: the tool is not called again', async (t) => {
  const rig = await waiting(MUTE_ORDER)
  answerWith(rig, 'Tomorrow, to your office.')
  rig.callerSound(100, { ms: 900, text: 'I mean the one to my office.' })
  await rig.until(() => rig.turns('agent').length === 1)
  const { messages } = rig.requests.at(-1) ?? { messages: [] }
  t.match(messages.slice(-3), [
    { role: 'user', content: 'Where is my order? I mean the one to my office.' },
    { role: 'assistant', toolCalls: [{ id: 'c1' }] },
    { role: 'tool', toolCallId: 'c1', content: /^No result yet.*Do not call it again/ },
  ])
  // The result still arrives and the next answer includes it.
  rig.toolRequests[0]?.done('It was sent on Monday.')
  answerWith(rig, 'On Monday.')
  rig.callerSound(200, { ms: 900, text: 'When was it sent?' })
  await rig.until(() => rig.turns('agent').length === 2)
  t.match(JSON.stringify(rig.requests.at(-1)?.messages), /came late: It was sent on Monday/)
  t.match(
    rig.events.filter(({ type }) => type === 'tool'),
    [{ name: 'order', result: 'It was sent on Monday.' }],
  )
  t.equal(rig.toolRequests.length, 1)
})

t.test('the caller interrupts the filler', async (t) => {
  const rig = await waiting(ORDER)
  await rig.until(() => rig.agentSounding)
  await rig.run(400)
  answerWith(rig, 'All right, goodbye.')
  rig.callerSound(0, { ms: 1200, text: 'No, never mind that.' })
  await rig.until(() => rig.turns('agent').length === 2)
  t.match(rig.turns('agent')[0], { cutAtMs: Number })
  const { messages } = rig.requests.at(-1) ?? { messages: [] }
  t.equal(messages.filter(({ role }) => role === 'tool').length, 1)
  rig.toolRequests[0]?.done('Tomorrow.')
  await rig.run(200)
  t.equal(rig.turns('agent').length, 2, 'a late result starts no answer by itself')
})

t.test('a hang-up while a tool runs leaves nothing behind', async (t) => {
  const rig = await waiting(ORDER)
  rig.conversation.close('hangup')
  t.equal(rig.toolRequests[0]?.cancelled, true)
  rig.toolRequests[0]?.done('Tomorrow.')
  await rig.run(200)
  t.same(
    rig.events.filter(({ type }) => type === 'tool'),
    [],
  )
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
  rig.callerSound(0, saying('Is Monday free?'))
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
  rig.callerSound(300, saying('Ten.'))
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
  rig.callerSound(0, saying('Is Monday free?'))
  await rig.until(() => rig.eventsOf('finished').length === 1)
  t.ok(rig.requests.length <= 8, `${rig.requests.length} requests`)
  t.same(rig.requests.at(-1)?.tools, [], 'in the end no tools are offered')
  t.equal(rig.clock.pending, 0)
})
