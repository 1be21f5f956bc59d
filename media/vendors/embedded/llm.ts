import { BUSINESS_LINE } from '../../agent/llm/business-line.js'
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
  TOOL_REPLIES,
  type Topic,
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
 * word. Uses the tools that the agent has and offers nothing that needs another one.
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
  const heard = lastOf(messages, 'user')
  const language = languageOf(heard, messages)
  const facts = factsOf(messages, heard, language, tools)
  if (last?.role === 'tool') return afterTool(messages, tools, last.content, language, facts)
  const topic = topicOf(intentOf(heard), lastOf(messages, 'assistant'), messages)
  const tool = toolFor(topic, heard, tools)
  if (tool !== undefined) {
    const { connecting, wait } = TOOL_REPLIES[language]
    const call = { id: callId(messages), name: tool.name, arguments: argumentsFor(tool, heard) }
    return { text: topic === 'person' ? connecting : wait, calls: [call] }
  }
  const reply = REPLIES[language][topic === 'booked' ? 'appointment' : topic](facts)
  const interrupted = wasInterrupted(messages)
  // A caller who interrupts does not want the long reply.
  const wanted = interrupted && !reply.endsCall ? reply.sentences.slice(0, 2) : reply.sentences
  const sentences = interrupted && ACKNOWLEDGED.has(topic) ? [ACKNOWLEDGEMENT[language], ...wanted] : wanted
  return { text: sentences.join(' '), calls: reply.endsCall ? endCall(messages, tools) : [] }
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

/** Tools by the topic that they serve, recognised by their names. */
const TOPIC_TOOLS: Readonly<Partial<Record<Topic, RegExp>>> = {
  appointment: /appointment|availab|book|slot/i,
  booked: /appointment|availab|book|slot/i,
  time: /appointment|availab|book|slot/i,
  person: /transfer|hand_?over|connect/i,
  opt_out: /opt_?out/i,
  price: /price|cost|fee|quote/i,
  hours: /hours|opening|timing|address|location/i,
}

/** Topics that are answered in words only. */
const WITHOUT_TOOL: ReadonlySet<Topic> = new Set([
  'voicemail',
  'screening',
  'goodbye',
  'closing',
  'wait',
  'enough',
  'no',
])
/** Tools that the caller's words alone never call. */
const NEVER_BY_WORDS = /^end_call$|dtmf|transfer|opt_?out/i

/** Returns the tool for a topic, else one that has a word of the caller in its name. */
function toolFor(
  topic: Topic,
  heard: string,
  tools: readonly ToolDeclaration[],
): ToolDeclaration | undefined {
  if (WITHOUT_TOOL.has(topic)) return undefined
  const pattern = TOPIC_TOOLS[topic]
  const forTopic = pattern === undefined ? undefined : tools.find(({ name }) => pattern.test(name))
  const words = new Set(heard.toLowerCase().match(/\p{L}{4,}/gu))
  return (
    forTopic ??
    tools.find(({ name }) => !NEVER_BY_WORDS.test(name) && name.split('_').some((part) => words.has(part)))
  )
}

function endCall(messages: readonly ChatMessage[], tools: readonly ToolDeclaration[]): readonly ToolCall[] {
  const tool = tools.find(({ name }) => name === 'end_call')
  return tool === undefined ? [] : [{ id: callId(messages), name: tool.name, arguments: {} }]
}

/** Ids must be unique within a conversation and equal for equal messages. */
function callId(messages: readonly ChatMessage[]): string {
  return `call_${messages.length}`
}

/**
 * Fills the declared parameters from the caller's words, by type. Of listed values the caller has to name one, and a
 * required parameter is the first one otherwise.
 */
function argumentsFor(tool: ToolDeclaration, heard: string): Record<string, unknown> {
  const { properties, required } = tool.parameters
  const args: Record<string, unknown> = {}
  if (typeof properties !== 'object' || properties === null) return args
  const needed: readonly unknown[] = Array.isArray(required) ? required : []
  for (const [name, schema] of Object.entries(properties as Record<string, ParameterSchema>)) {
    const { type, enum: values } = schema
    if (values !== undefined) {
      const value = values.find((one) => heard.toLowerCase().includes(one.toLowerCase().replaceAll('_', ' ')))
      if (value !== undefined || needed.includes(name)) args[name] = value ?? values[0]
    } else if (type === 'number' || type === 'integer') args[name] = Number(digitsIn(heard).slice(0, 9) || 1)
    else if (type === 'boolean') args[name] = true
    else args[name] = heard
  }
  return args
}

interface ParameterSchema {
  readonly type?: unknown
  readonly enum?: readonly string[]
}

/** How tools report that nothing was done (media/agent/tools, control/tools). */
const FAILURE = /^(Failed\b|There is no tool|The parameter \S+ is missing|No result yet)/
/** Results that are no sentence for the caller: data, and the notes of the service for a model. */
const NO_SENTENCE = /^([[{]|Done \(|Scheduled\.)/

/** Reports the result of a tool to the caller. A failure is said in own words, data is not read out. */
function afterTool(
  messages: readonly ChatMessage[],
  tools: readonly ToolDeclaration[],
  content: string,
  language: ReplyLanguage,
  { business }: ReplyFacts,
): Reply {
  const asked = messages.findLast((message) => message.role === 'assistant')
  const called = asked?.role === 'assistant' ? (asked.toolCalls ?? []).map(({ name }) => name) : []
  const replies = TOOL_REPLIES[language]
  const result = content.trim()
  const failed = FAILURE.test(result)
  if (called.includes('end_call')) return { text: '', calls: [] }
  if (called.some((name) => TOPIC_TOOLS.opt_out?.test(name))) {
    const text = failed ? replies.notOptedOut : replies.optedOut(business)
    return { text, calls: endCall(messages, tools) }
  }
  if (failed) return { text: replies.failed, calls: [] }
  // The other person speaks next.
  if (called.some((name) => TOPIC_TOOLS.person?.test(name))) return { text: '', calls: [] }
  if (result === '' || NO_SENTENCE.test(result)) return { text: replies.answered, calls: [] }
  return { text: /[.!?।]$/u.test(result) ? result : `${result}.`, calls: [] }
}

function lastOf(messages: readonly ChatMessage[], role: 'user' | 'assistant'): string {
  const found = messages.findLast((message) => message.role === role)
  return found?.content ?? ''
}

/**
 * A conversation lists its languages in the prompt; Hindi is spoken if it is the only one that the rules know
 * or the one that the caller speaks now. Without the list, the script decides.
 */
function languageOf(heard: string, messages: readonly ChatMessage[]): ReplyLanguage {
  const prompt = systemPrompt(messages)
  const listed = /Languages of this call: ([\w, -]+)/.exec(prompt)?.[1]
  if (listed !== undefined) {
    if (!listed.includes('hi-IN')) return 'en'
    if (!listed.includes('en-IN')) return 'hi'
    const spoken = /The caller speaks (\w+) now/.exec(prompt)?.[1]
    if (spoken !== undefined) return spoken === 'Hindi' ? 'hi' : 'en'
  }
  if (/\p{Script=Devanagari}/u.test(heard)) return 'hi'
  if (/\p{L}/u.test(heard)) return 'en'
  const said = lastOf(messages, 'assistant')
  return /\p{Script=Devanagari}/u.test(said === '' ? prompt : said) ? 'hi' : 'en'
}

function systemPrompt(messages: readonly ChatMessage[]): string {
  return messages.find((message) => message.role === 'system')?.content ?? ''
}

function factsOf(
  messages: readonly ChatMessage[],
  heard: string,
  language: ReplyLanguage,
  tools: readonly ToolDeclaration[],
): ReplyFacts {
  const prompt = systemPrompt(messages)
  const hindi = language === 'hi'
  // "You are Asha, the receptionist of Sunrise Dental Clinic."
  const agent = /\b(?:you are|your name is|i am|this is)\s{1,4}(?!an?\b|the\b)(\p{Lu}[\p{L}'-]{1,60})/iu.exec(
    prompt,
  )?.[1]
  const named = agent !== undefined && /^\p{Lu}/u.test(agent) ? agent : undefined
  // The business name of the agent's settings, else a name in the author's own words.
  const business =
    BUSINESS_LINE.exec(prompt)?.[1] ??
    /\b(?:of|at|for|from|with)\s+((?:\p{Lu}[\p{L}\p{N}&'-]*)(?:\s+(?:(?:and|of|&)\s+)?\p{Lu}[\p{L}\p{N}&'-]*)*)/u.exec(
      prompt,
    )?.[1]
  return {
    agent: named ?? (hindi ? 'सहायक' : 'the assistant'),
    business: business ?? (hindi ? 'हमारे कार्यालय' : 'our office'),
    digits: digitsIn(heard),
    books: toolFor('appointment', '', tools) !== undefined,
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
  return text.match(/\s{0,40}\S+/gu) ?? []
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
