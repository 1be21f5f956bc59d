import type { ChatMessage } from '../../agent/vendor-ports.js'

/** Stands for the caller when the conversation begins with words of the agent. */
const CALL_BEGINS = '(The call begins.)'

/** How the chat templates of vLLM, SGLang and llama.cpp refuse an order of roles. */
const REFUSALS = [/system message must be (at )?the (beginning|first)/i, /roles must alternate/i]

export function refusesOrder(message: string): boolean {
  return REFUSALS.some((pattern) => pattern.test(message))
}

/**
 * Returns the messages in the order that strict chat templates demand: one system message at the beginning, then user
 * and assistant in turn, beginning with the user. Later system messages become notes for the next answer. Tool
 * results keep their place after the message that called the tools.
 */
export function strictOrder(messages: readonly ChatMessage[]): readonly ChatMessage[] {
  const head: string[] = []
  const ordered: ChatMessage[] = []
  for (const message of messages) {
    if (message.role === 'system' && ordered.length === 0) head.push(message.content)
    else if (message.role === 'system') add(ordered, { role: 'user', content: `(Note: ${message.content})` })
    else {
      if (ordered.length === 0 && message.role === 'assistant') {
        ordered.push({ role: 'user', content: CALL_BEGINS })
      }
      add(ordered, message)
    }
  }
  return head.length === 0 ? ordered : [{ role: 'system', content: head.join('\n\n') }, ...ordered]
}

/** Appends a message, or joins it with the last one of the same role. */
function add(ordered: ChatMessage[], message: ChatMessage): void {
  const last = ordered.at(-1)
  if (message.role === 'user' && last?.role === 'user') {
    ordered[ordered.length - 1] = { role: 'user', content: `${last.content}\n${message.content}` }
  } else if (message.role === 'assistant' && last?.role === 'assistant' && !last.toolCalls?.length) {
    const content = [last.content, message.content].filter((text) => text !== null && text !== '').join(' ')
    ordered[ordered.length - 1] = { ...message, content: content === '' ? null : content }
  } else ordered.push(message)
}
