import type { ChatMessage, ToolCall } from '../../agent/vendor-ports.js'
import { strictOrder } from '../openai/message-order.js'

type Block = Readonly<Record<string, unknown>>

interface Turn {
  readonly role: 'user' | 'assistant'
  readonly content: Block[]
}

/** Stands for the caller when the agent has the last word; current models continue no text of their own. */
const GO_ON = '(The caller waits.)'

/**
 * Converts a conversation to the API's `system` and `messages`: user and assistant in turn, beginning and ending with
 * the user, tool results at the head of a user message. Later system messages become notes of the user, because
 * only some models take them. https://platform.claude.com/docs/en/api/messages
 */
export function messagesOf(conversation: readonly ChatMessage[]): {
  readonly system: string | null
  readonly messages: readonly Turn[]
} {
  const [first, ...rest] = strictOrder(conversation)
  const head = first?.role === 'system' ? first.content : null
  const turns: Turn[] = []
  for (const message of head === null && first !== undefined ? [first, ...rest] : rest) {
    const content = [...blocksOf(message)]
    const role = message.role === 'assistant' ? 'assistant' : 'user'
    const last = turns.at(-1)
    if (content.length === 0) continue
    if (last?.role === role) last.content.push(...content)
    else turns.push({ role, content })
  }
  if (turns.at(-1)?.role !== 'user') turns.push({ role: 'user', content: [textBlock(GO_ON)] })
  return { system: head, messages: turns }
}

/** Returns the content of one message; a text without words is refused and left out. */
function blocksOf(message: ChatMessage): readonly Block[] {
  switch (message.role) {
    case 'tool':
      return [{ type: 'tool_result', tool_use_id: message.toolCallId, content: message.content }]
    case 'assistant':
      return [...textBlocks(message.content), ...(message.toolCalls ?? []).map(toolUse)]
    default:
      return textBlocks(message.content)
  }
}

function textBlocks(content: string | null): readonly Block[] {
  return content === null || content.trim() === '' ? [] : [textBlock(content)]
}

function textBlock(text: string): Block {
  return { type: 'text', text }
}

function toolUse(call: ToolCall): Block {
  return { type: 'tool_use', id: call.id, name: call.name, input: call.arguments }
}
