import type {
  ChatMessage,
  GenerateEvents,
  GenerateRequest,
  LanguageModel,
  ToolCall,
  ToolDeclaration,
} from '../../agent/vendor-ports.js'
import type { Clock, Timer } from '../../base/clock.js'
import { EMBEDDED } from '../vendor-ids.js'
import { digitsIn, type Intent, intentOf } from './intents.js'
import {
  ACKNOWLEDGEMENT,
  ASKED_ANYTHING_ELSE,
  ASKED_FOR_CALLER,
  OFFERED_BOOKING,
  REPLIES,
  type ReplyFacts,
  type ReplyLanguage,
  type ScriptedReply,
} from './replies.js'

/** Delays of a simulated provider; without them all tokens arrive in one microtask. */
export interface RulesTiming {
  readonly clock: Clock
  readonly firstTokenMs: number
  readonly tokenMs: number
}

interface Reply {
  readonly text: string
  readonly calls: readonly ToolCall[]
}

/** Topics after which an interruption is acknowledged; the other replies do so themselves. */
const ACKNOWLEDGED: ReadonlySet<Topic> = new Set([
  'price',
  'appointment',
  'who',
  'more',
  'hours',
  'digits',
  'time',
])

/**
 * Opens the embedded language model `parley-rules-1`, a rule-based receptionist. It sees only the messages
 * and tools, and equal messages always yield equal replies, so that a call can be replayed. Streams word by
 * word and ends the call with the `end_call` tool if the agent has it.
 */
export function rulesLanguageModel(timing: RulesTiming | null = null): LanguageModel {
  return {
    id: EMBEDDED,
    firstTokenDeadlineMs: 1200,
    generate(request, events) {
      const reply = replyTo(request)
      return timing === null ? streamNow(request, reply, events) : streamTimed(request, reply, events, timing)
    },
  }
}

/** Returns the reply to a request. Pure. */
export function replyTo(request: GenerateRequest): Reply {
  const { messages, tools } = request
  const last = messages.at(-1)
  if (last?.role === 'tool') return afterTool(messages, last.content)
  const heard = lastOf(messages, 'user')
  const said = lastOf(messages, 'assistant')
  const language = languageOf(heard, messages)
  const intent = intentOf(heard)
  const { reply, topic } = choose(intent, heard, said, messages, language)
  const interrupted = wasInterrupted(messages)
  // A caller who interrupts does not want the long reply.
  const wanted = interrupted && !reply.endsCall ? reply.sentences.slice(0, 2) : reply.sentences
  const sentences = interrupted && ACKNOWLEDGED.has(topic) ? [ACKNOWLEDGEMENT[language], ...wanted] : wanted
  return { text: sentences.join(' '), calls: callsFor(topic, reply, heard, tools, messages) }
}

type Topic = Intent | 'booked' | 'closing' | 'purpose'

function choose(
  intent: Intent,
  heard: string,
  said: string,
  messages: readonly ChatMessage[],
  language: ReplyLanguage,
): { reply: ScriptedReply; topic: Topic } {
  const topic = topicOf(intent, said, messages)
  const facts = factsOf(messages, heard, language)
  return { reply: REPLIES[language][topic](facts), topic }
}

/** Interprets the caller's intent in the context of our last words. */
function topicOf(intent: Intent, said: string, messages: readonly ChatMessage[]): Topic {
  const asked = ASKED_ANYTHING_ELSE.test(said)
  const offered = !asked && OFFERED_BOOKING.test(said)
  if (intent === 'no' || intent === 'thanks') return asked ? 'closing' : intent
  if (intent === 'yes') {
    if (offered) return 'booked'
    if (asked) return 'question'
    const answers = messages.filter((message) => message.role === 'assistant').length
    return answers <= 1 || ASKED_FOR_CALLER.test(said) ? 'purpose' : 'yes'
  }
  if (intent === 'time' && offered) return 'booked'
  return intent
}

function callsFor(
  topic: Topic,
  reply: ScriptedReply,
  heard: string,
  tools: readonly ToolDeclaration[],
  messages: readonly ChatMessage[],
): readonly ToolCall[] {
  const calls: ToolCall[] = []
  const call = (tool: ToolDeclaration | undefined, args: Record<string, unknown>): void => {
    if (tool === undefined) return
    // Ids must be unique within a conversation and equal for equal messages.
    calls.push({ id: `call_${messages.length}_${calls.length}`, name: tool.name, arguments: args })
  }
  if (topic === 'appointment' || topic === 'booked') {
    const tool = tools.find(({ name }) => /appointment|availab|book|slot/i.test(name))
    if (tool !== undefined) call(tool, argumentsFor(tool, heard))
  }
  if (topic === 'opt_out')
    call(
      tools.find(({ name }) => name === 'opt_out'),
      {},
    )
  if (reply.endsCall)
    call(
      tools.find(({ name }) => name === 'end_call'),
      {},
    )
  return calls
}

/** Fills every declared parameter from the caller's words, by type. */
function argumentsFor(tool: ToolDeclaration, heard: string): Record<string, unknown> {
  const properties = tool.parameters.properties
  const args: Record<string, unknown> = {}
  if (typeof properties !== 'object' || properties === null) return args
  for (const [name, schema] of Object.entries(properties as Record<string, { type?: unknown }>)) {
    const type = schema.type
    if (type === 'number' || type === 'integer') args[name] = Number(digitsIn(heard).slice(0, 9) || 1)
    else if (type === 'boolean') args[name] = true
    else args[name] = heard
  }
  return args
}

/** Reads out a tool's result, unless the call is ending anyway. */
function afterTool(messages: readonly ChatMessage[], result: string): Reply {
  const called = messages.findLast((message) => message.role === 'assistant')
  const ending =
    called?.role === 'assistant' &&
    (called.toolCalls ?? []).some(({ name }) => name === 'end_call' || name === 'opt_out')
  const text = result.trim()
  // Data is not spoken; a sentence is meant to be.
  if (ending || text === '' || /^[[{]/.test(text)) return { text: '', calls: [] }
  return { text: /[.!?।]$/u.test(text) ? text : `${text}.`, calls: [] }
}

function lastOf(messages: readonly ChatMessage[], role: 'user' | 'assistant'): string {
  const found = messages.findLast((message) => message.role === role)
  return found?.content ?? ''
}

/** The script of the caller's words decides; before any words, that of the prompt. */
function languageOf(heard: string, messages: readonly ChatMessage[]): ReplyLanguage {
  if (/\p{Script=Devanagari}/u.test(heard)) return 'hi'
  if (/\p{L}/u.test(heard)) return 'en'
  const said = lastOf(messages, 'assistant')
  return /\p{Script=Devanagari}/u.test(said === '' ? systemPrompt(messages) : said) ? 'hi' : 'en'
}

function systemPrompt(messages: readonly ChatMessage[]): string {
  return messages.find((message) => message.role === 'system')?.content ?? ''
}

function factsOf(messages: readonly ChatMessage[], heard: string, language: ReplyLanguage): ReplyFacts {
  const prompt = systemPrompt(messages)
  const hindi = language === 'hi'
  // "You are Asha, the receptionist of Sunrise Dental Clinic."
  const agent = /\b(?:you are|your name is|i am|this is)\s+(?!an?\b|the\b)(\p{Lu}[\p{L}'-]+)/iu.exec(
    prompt,
  )?.[1]
  const named = agent !== undefined && /^\p{Lu}/u.test(agent) ? agent : undefined
  const business =
    /\b(?:of|at|for|from|with)\s+((?:\p{Lu}[\p{L}\p{N}&'-]*)(?:\s+(?:(?:and|of|&)\s+)?\p{Lu}[\p{L}\p{N}&'-]*)*)/u.exec(
      prompt,
    )?.[1]
  return {
    agent: named ?? (hindi ? 'सहायक' : 'the assistant'),
    business: business ?? (hindi ? 'हमारे कार्यालय' : 'our office'),
    digits: digitsIn(heard),
    misses: missesInARow(messages),
  }
}

function missesInARow(messages: readonly ChatMessage[]): number {
  let misses = 0
  for (const message of messages.toReversed()) {
    if (message.role !== 'user') continue
    if (intentOf(message.content) !== 'unclear') break
    misses++
  }
  return misses
}

/** True when the conversation noted that our last words were interrupted. */
function wasInterrupted(messages: readonly ChatMessage[]): boolean {
  const from = messages.findLastIndex((message) => message.role === 'assistant')
  // The prompt itself may mention interruptions; the note comes with or after our last words.
  return from > 0 && messages.slice(from).some(({ content }) => /\binterrupted\b/i.test(content ?? ''))
}

function usageOf(request: GenerateRequest, reply: Reply): { promptTokens: number; completionTokens: number } {
  let promptTokens = 0
  for (const { content } of request.messages) promptTokens += tokensOf(content ?? '').length
  return { promptTokens, completionTokens: tokensOf(reply.text).length }
}

/** Words with the preceding blanks, as models stream them. */
function tokensOf(text: string): readonly string[] {
  return text.match(/\s*\S+/gu) ?? []
}

function finish(request: GenerateRequest, reply: Reply, events: GenerateEvents, live: () => boolean): void {
  if (reply.calls.length > 0) events.toolCalls(reply.calls)
  if (live()) events.done(usageOf(request, reply))
}

function streamNow(request: GenerateRequest, reply: Reply, events: GenerateEvents): { cancel(): void } {
  let cancelled = false
  // Asynchronous, because the caller needs its handle before the first event.
  queueMicrotask(() => {
    for (const token of tokensOf(reply.text)) {
      if (cancelled) return
      events.text(token)
    }
    if (!cancelled) finish(request, reply, events, () => !cancelled)
  })
  return {
    cancel: () => {
      cancelled = true
    },
  }
}

function streamTimed(
  request: GenerateRequest,
  reply: Reply,
  events: GenerateEvents,
  { clock, firstTokenMs, tokenMs }: RulesTiming,
): { cancel(): void } {
  const tokens = tokensOf(reply.text)
  let cancelled = false
  let timer: Timer
  const step = (index: number): void => {
    const token = tokens[index]
    if (token === undefined) {
      finish(request, reply, events, () => !cancelled)
      return
    }
    events.text(token)
    if (!cancelled) timer = clock.after(tokenMs, () => step(index + 1))
  }
  timer = clock.after(firstTokenMs, () => step(0))
  return {
    cancel: () => {
      cancelled = true
      timer.cancel()
    },
  }
}
