import type { ChatMessage, ToolDeclaration } from '../vendor-ports.js'

/*
 * What of a long conversation fits into a model's window. Vendors count tokens each in their own way, so
 * that this is an estimate on the safe side: letters of Indian scripts cost several times what Latin ones do.
 */

/** When nobody says how much a model takes. One that takes less says so, and is asked again. */
export const USUAL_WINDOW_TOKENS = 32_768
/**
 * Of the conversation, after the prompt: half an hour of talk. No call is better for more, and every turn
 * would cost it again in time and money.
 */
const MOST_HISTORY_TOKENS = 24_000
/** Even where a long prompt seems to fill the window: the estimate may well be too high. */
const LEAST_HISTORY_TOKENS = 2000
/** Left for the answer. */
const ANSWER_TOKENS = 1000
/** A tool's result that is not the latest is cut to this, before anything is left out. */
const OLD_RESULT_CHARS = 400
/** The last results, when even they do not fit. */
const LEAST_RESULT_CHARS = 200
const PER_MESSAGE = 4
const LEFT_OUT = '[An earlier part of this call is left out here.]'
const CUT = ' [...]'

/** Messages that go together: a request for tools and all its results, or one message. */
type Unit = readonly ChatMessage[]

/** How many tokens the messages of a request may have. */
export function promptBudget(
  windowTokens: number,
  [first]: readonly ChatMessage[],
  tools: readonly ToolDeclaration[],
): number {
  const prompt = first?.role === 'system' ? messageTokens(first) : 0
  const declared = tools.length === 0 ? 0 : estimateTokens(JSON.stringify(tools))
  const left = windowTokens - ANSWER_TOKENS - declared - prompt
  return prompt + Math.max(LEAST_HISTORY_TOKENS, Math.min(MOST_HISTORY_TOKENS, left))
}

/**
 * The messages, as many as fit: the system prompt, the caller's last words and all after them, and of the
 * rest the newest. A result never stands without its call, nor a call without its results. What cannot
 * be left out is sent although it is too long: the vendor has the last word.
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
    let gone = 0
    // Whole turns: what is left begins with words of the caller.
    while (gone < keepFrom && (total > budget || !begins(left[gone]))) {
      total -= countTokens(left[gone] ?? [])
      gone++
    }
    left = left.slice(gone)
    if (total > budget) left = left.map((unit) => unit.map((m) => shortened(m, LEAST_RESULT_CHARS)))
    if (gone > 0 && head) return [{ ...head, content: `${head.content}\n\n${LEFT_OUT}` }, ...left.flat()]
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
    // Latin words, other alphabets; the rest, a byte or a syllable a token.
    tokens += code < 0x80 ? 0.3 : code < 0x900 ? 0.6 : 1
  }
  return Math.ceil(tokens)
}

/** A conversation is counted again with every request; its messages do not change. */
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

/** Where the caller's last words are; the last unit when there are none. */
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

/** Half a character at the cut would be none. */
function wellFormed(text: string): string {
  const last = text.charCodeAt(text.length - 1)
  return last >= 0xd800 && last < 0xdc00 ? text.slice(0, -1) : text
}
