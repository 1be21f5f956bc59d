import t from 'tap'
import type { ToolSpec } from '../agent-spec.js'
import { toolDeclarations } from '../tools/tool-calls.js'
import { ConversationContext } from './conversation-context.js'

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
  context.addAgentTurn('Hello.', false)
  context.addCallerTurn('Hi.')
  context.addAgentTurn('We open', true)
  t.same(lines(context, 'When?'), [
    'assistant: Hello.',
    'user: Hi.',
    'assistant: We open [interrupted by the caller]',
    'user: When?',
  ])
  t.equal(lines(context).length, 3, 'pending words are not committed')
})

t.test('an utterance that was not heard', async (t) => {
  const context = new ConversationContext('p', ['en-IN'])
  context.addCallerTurn('One.')
  context.addAgentTurn('', true)
  context.addCallerTurn('Two.')
  t.same(lines(context), ['user: One.', 'assistant: [interrupted by the caller]', 'user: Two.'])
  context.addAgentTurn('', false)
  context.addCallerTurn('Three.')
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
  t.same(toolDeclarations(TOOLS)[1], {
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
