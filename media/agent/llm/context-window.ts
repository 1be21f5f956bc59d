import type { ChatMessage, ToolDeclaration } from '../vendor-ports.js'

/*
 * Fits a long conversation into a model's context window. Tokenisers differ, so this is a conservative
 * estimate: characters of Indian scripts cost several times as much as Latin ones.
 */

/** Assumed when the size is unknown. A model with a smaller window rejects the prompt and is asked again. */
export const DEFAULT_WINDOW_TOKENS = 32_768
/**
 * Most tokens of the conversation after the prompt: about half an hour of talk. More would cost time and
 * money in every turn.
 */
const MAX_HISTORY_TOKENS = 24_000
/**
 * Least tokens for the conversation, even when a long prompt seems to fill the window. The estimate may be
 * too high.
 */
const MIN_HISTORY_TOKENS = 2000
/** Reserved for the answer. */
const ANSWER_TOKENS = 1000
/** Length to which older tool results are cut before any message is left out. */
const OLD_RESULT_CHARS = 400
/** Length of the latest results when even those do not fit. */
const MIN_RESULT_CHARS = 200
const PER_MESSAGE = 4
const LEFT_OUT = '[An earlier part of this call is left out here.]'
const CUT = ' [...]'

/** Messages that belong together: a tool request with all its results, or one message. */
type Unit = readonly ChatMessage[]

/** Returns the number of tokens that the messages of a request may have. */
export function promptBudget(
  windowTokens: number,
  [first]: readonly ChatMessage[],
  tools: readonly ToolDeclaration[],
): number {
  const prompt = first?.role === 'system' ? messageTokens(first) : 0
  const declared = tools.length === 0 ? 0 : estimateTokens(JSON.stringify(tools))
  const left = windowTokens - ANSWER_TOKENS - declared - prompt
  return prompt + Math.max(MIN_HISTORY_TOKENS, Math.min(MAX_HISTORY_TOKENS, left))
}

/**
 * Returns the messages that fit: the system prompt, the caller's last words and everything after them, and
 * the newest of the rest. A tool call and its results stay together. Messages that cannot be left out are
 * sent even if they are too long.
 */
export function fitMessages(messages: readonly ChatMessage[], budget: number): readonly ChatMessage[] {
  if (countTokens(messages) <= budget) return messages
  const [first] = messages
  const head = first?.role === 'system' ? first : null
  const units = unitsOf(head ? messages.slice(1) : messages)
  const keepFrom = lastTurn(units)
  const headTokens = head ? messageTokens(head) : 0
  let left = units.map((unit, at) => (at < keepFrom ? unit.map((m) => shortened(m, OLD_RESULT_CHARS)) : unit))
  let total = headTokens + countTokens(left.flat())
  if (total > budget) {
    total += estimateTokens(LEFT_OUT)
    let dropped = 0
    // Removes whole turns, so that the rest begins with the caller's words.
    while (dropped < keepFrom && (total > budget || !begins(left[dropped]))) {
      total -= countTokens(left[dropped] ?? [])
      dropped++
    }
    left = left.slice(dropped)
    if (total > budget) left = left.map((unit) => unit.map((m) => shortened(m, MIN_RESULT_CHARS)))
    if (dropped > 0 && head) return [{ ...head, content: `${head.content}\n\n${LEFT_OUT}` }, ...left.flat()]
  }
  return head ? [head, ...left.flat()] : left.flat()
}

export function countTokens(messages: readonly ChatMessage[]): number {
  return messages.reduce((sum, message) => sum + messageTokens(message), 0)
}

export function estimateTokens(text: string): number {
  let tokens = 0
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    // Latin words, other alphabets; in other scripts each byte or syllable is a token.
    tokens += code < 0x80 ? 0.3 : code < 0x900 ? 0.6 : 1
  }
  return Math.ceil(tokens)
}

/** Letters of one word, with their signs, or digits. Every tokeniser makes at least one token of it. */
const WORD = /[\p{L}\p{M}\p{N}]+/gu

/** Returns the number of tokens that the messages have at least, with any tokeniser. */
export function leastTokens(messages: readonly ChatMessage[]): number {
  return messages.reduce((sum, { content }) => sum + (content?.match(WORD)?.length ?? 0), 0)
}

/** Counts per message. Messages never change and are counted with every request. */
const counted = new WeakMap<ChatMessage, number>()

function messageTokens(message: ChatMessage): number {
  const known = counted.get(message)
  if (known !== undefined) return known
  const calls = message.role === 'assistant' ? (message.toolCalls ?? []) : []
  const tokens =
    PER_MESSAGE +
    estimateTokens(message.content ?? '') +
    (calls.length === 0 ? 0 : estimateTokens(JSON.stringify(calls))) +
    (message.role === 'tool' ? estimateTokens(message.toolCallId) : 0)
  counted.set(message, tokens)
  return tokens
}

function unitsOf(messages: readonly ChatMessage[]): readonly Unit[] {
  const units: ChatMessage[][] = []
  for (const message of messages) {
    const open = units.at(-1)
    if (message.role === 'tool' && open !== undefined) open.push(message)
    else units.push([message])
  }
  return units
}

/** Returns the index of the caller's last words, or of the last unit when there are none. */
function lastTurn(units: readonly Unit[]): number {
  const at = units.findLastIndex(([message]) => message?.role === 'user')
  return at < 0 ? Math.max(0, units.length - 1) : at
}

function begins(unit: Unit | undefined): boolean {
  return unit?.[0]?.role === 'user'
}

function shortened(message: ChatMessage, chars: number): ChatMessage {
  if (message.role !== 'tool' || message.content.length <= chars + CUT.length) return message
  return { ...message, content: `${wellFormed(message.content.slice(0, chars))}${CUT}` }
}

/** Removes half a surrogate pair at the cut. */
function wellFormed(text: string): string {
  const last = text.charCodeAt(text.length - 1)
  return last >= 0xd800 && last < 0xdc00 ? text.slice(0, -1) : text
}
