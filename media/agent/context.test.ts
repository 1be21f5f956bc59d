import t from 'tap'
import { ConversationContext } from './context.js'
import type { ToolSpec } from './spec.js'
import { declarations, runTools } from './tools.js'

const lines = (context: ConversationContext, pending: string | null = null) =>
  context
    .messages(pending, [])
    .slice(1)
    .map(({ role, content }) => `${role}: ${content}`)

t.test('the model sees what was heard', async (t) => {
  const context = new ConversationContext('You are Asha.', ['en-IN', 'hi-IN'])
  const [prompt] = context.messages(null, [])
  t.match(prompt?.content, /^You are Asha\.\n/)
  t.match(prompt?.content, /en-IN, hi-IN/)
  context.agentSaid('Hello.', false)
  context.callerSaid('Hi.')
  context.agentSaid('We open', true)
  t.same(lines(context, 'When?'), [
    'assistant: Hello.',
    'user: Hi.',
    'assistant: We open [interrupted by the caller]',
    'user: When?',
  ])
  t.equal(lines(context).length, 3, 'pending words are not committed')
})

t.test('an utterance of which nothing was heard', async (t) => {
  const context = new ConversationContext('p', ['en-IN'])
  context.callerSaid('One.')
  context.agentSaid('', true)
  context.callerSaid('Two.')
  t.same(lines(context), ['user: One.', 'assistant: [interrupted by the caller]', 'user: Two.'])
  context.agentSaid('', false)
  context.callerSaid('Three.')
  t.same(lines(context, 'Four.').slice(2), ['user: Two. Three. Four.'], 'one turn to the model')
})

const TOOLS: readonly ToolSpec[] = [
  { name: 'end_call', description: 'Ends', parameters: [], speech: {}, action: { kind: 'end_call' } },
  {
    name: 'slots',
    description: 'Free places',
    parameters: [
      { name: 'day', description: 'Day', type: 'string', required: true },
      { name: 'count', description: 'How many', type: 'integer', required: false },
    ],
    speech: {},
    action: { kind: 'mock', response: 'Ten.' },
  },
  { name: 'person', description: 'A person', parameters: [], speech: {}, action: { kind: 'transfer_call' } },
]

t.test('tools are declared as JSON Schema', async (t) => {
  t.same(declarations(TOOLS)[1], {
    name: 'slots',
    description: 'Free places',
    parameters: {
      type: 'object',
      properties: {
        day: { type: 'string', description: 'Day' },
        count: { type: 'integer', description: 'How many' },
      },
      required: ['day'],
      additionalProperties: false,
    },
  })
})

t.test('calls of an answer', async (t) => {
  const slots = { id: '1', name: 'slots', arguments: { day: 'Monday' } }
  t.equal(runTools('', [], TOOLS).next, 'nothing')
  const again = runTools('Let me look.', [slots], TOOLS)
  t.equal(again.next, 'again')
  t.same(again.messages, [
    { role: 'assistant', content: 'Let me look.', toolCalls: [slots] },
    { role: 'tool', toolCallId: '1', content: 'Ten.' },
  ])
  t.equal(runTools('', [slots, { id: '2', name: 'end_call', arguments: {} }], TOOLS).next, 'end')
  t.match(
    runTools('', [{ id: '3', name: 'nope', arguments: {} }], TOOLS).outcomes[0]?.result,
    /no tool named nope/,
  )
  t.equal(runTools('', [{ id: '3', name: 'nope', arguments: {} }], TOOLS).next, 'again')
  const person = runTools('', [{ id: '4', name: 'person', arguments: {} }], TOOLS)
  t.match(person.outcomes[0]?.result, /^Failed: calls cannot be transferred/, 'what is not built yet says so')
  t.equal(person.next, 'again')
  t.match(runTools('', [{ ...slots, arguments: {} }], TOOLS).outcomes[0]?.result, /day is missing/)
})
