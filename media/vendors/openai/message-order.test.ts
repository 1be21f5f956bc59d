import t from 'tap'
import type { ChatMessage } from '../../agent/vendor-ports.js'
import { refusesOrder, strictOrder } from './message-order.js'

const call = { id: 'c1', name: 'look', arguments: {} }

t.test('one system message, then user and assistant in turn', async (t) => {
  const messages: readonly ChatMessage[] = [
    { role: 'system', content: 'Be brief.' },
    { role: 'system', content: 'Facts.' },
    { role: 'assistant', content: 'Hello.' },
    { role: 'assistant', content: 'Are you there?' },
    { role: 'user', content: 'Yes.' },
    { role: 'assistant', content: 'One moment.' },
    { role: 'assistant', content: null, toolCalls: [call] },
    { role: 'tool', toolCallId: 'c1', content: 'late' },
    { role: 'system', content: 'The result came late.' },
    { role: 'user', content: 'And?' },
  ]
  t.strictSame(strictOrder(messages), [
    { role: 'system', content: 'Be brief.\n\nFacts.' },
    { role: 'user', content: '(The call begins.)' },
    { role: 'assistant', content: 'Hello. Are you there?' },
    { role: 'user', content: 'Yes.' },
    { role: 'assistant', content: 'One moment.', toolCalls: [call] },
    { role: 'tool', toolCallId: 'c1', content: 'late' },
    { role: 'user', content: '(Note: The result came late.)\nAnd?' },
  ])
})

t.test('an ordered conversation stays as it is', async (t) => {
  const messages: readonly ChatMessage[] = [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: 'Hi.' },
    { role: 'assistant', content: null, toolCalls: [call] },
    { role: 'tool', toolCallId: 'c1', content: '1' },
    { role: 'assistant', content: 'Done.' },
  ]
  t.strictSame(strictOrder(messages), messages)
})

t.test('refusals of known templates', async (t) => {
  for (const text of [
    'HTTP 400: System message must be at the beginning.',
    'Conversation roles must alternate user/assistant/user/assistant/...',
    'After the optional system message, conversation roles must alternate user and assistant roles',
  ]) {
    t.ok(refusesOrder(text), text)
  }
  t.notOk(refusesOrder("Unsupported value: 'temperature' does not support 0.3 with this model."))
})
