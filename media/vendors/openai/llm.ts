import { LearntManners } from '../../agent/learnt-manners.js'
import { leastTokens } from '../../agent/llm/context-window.js'
import type { ChatMessage, GenerateEvents, GenerateRequest, LanguageModel } from '../../agent/vendor-ports.js'
import { EngineError } from '../../base/errors.js'
import { isRecord } from '../shared/json.js'
import type { ReplyMessage } from '../shared/reply-decoder.js'
import { type ReplyReader, streamReply } from '../shared/reply-stream.js'
import { errorMessageOf, joinUrl, post, type VendorResponse } from '../shared/vendor-http.js'
import { OPENAI } from '../vendor-ids.js'
import type { VendorDeps } from '../vendor-module.js'
import { type Lesson, lessonOf, modelExtra, STRICT_ORDER, taught } from './chat-parameters.js'
import { strictOrder } from './message-order.js'
import type { OpenAiSettings } from './settings.js'
import { ToolCallAssembly } from './tool-calls.js'

const LIMITS = { headerMs: 8000, idleMs: 8000, totalMs: 60_000, maxBytes: 8 * 1024 * 1024 }

/** Requests that are sent again without, or with another, parameter that the vendor rejected. */
const MAX_LESSONS = 3

/** Differences of another vendor's endpoint with the same protocol. */
export interface ChatDialect {
  /** Id of the vendor. */
  readonly id?: string
  /** Fields added to every request. */
  readonly extra?: Readonly<Record<string, unknown>>
}

/**
 * Opens chat completions over server-sent events, as OpenAI and compatible servers offer them.
 * https://platform.openai.com/docs/api-reference/chat/create
 */
export function openAiLanguageModel(
  settings: Pick<OpenAiSettings, 'baseUrl' | 'apiKey'> & Partial<OpenAiSettings>,
  {
    clock,
    log,
    connections,
    manners = new LearntManners(),
  }: Pick<VendorDeps, 'clock' | 'log' | 'connections' | 'manners'>,
  { id = OPENAI, extra = {} }: ChatDialect = {},
): LanguageModel {
  const learnt = manners.of<readonly Lesson[]>(id)
  /** Models whose server cut a prompt. */
  const cut = new Set<string>()

  /** Warns, once for each model, of a server that counts fewer tokens than the messages have: Ollama cuts prompts silently. */
  const compare = ({ model, messages }: GenerateRequest, promptTokens: number): void => {
    if (promptTokens <= 0 || cut.has(model)) return
    const least = leastTokens(messages)
    if (promptTokens >= least) return
    cut.add(model)
    log.warn({ vendor: id, model, promptTokens, leastTokens: least }, 'llm.prompt_truncated')
  }

  const ask = async (request: GenerateRequest, signal: AbortSignal): Promise<VendorResponse> => {
    const url = joinUrl(settings.baseUrl, 'chat/completions')
    const whole = { ...bodyOf(request), ...modelExtra(request.model), ...extra, ...settings.chatExtra }
    let lessons = learnt.get(request.model) ?? (settings.strictOrder ? [STRICT_ORDER] : [])
    for (let retries = MAX_LESSONS; ; retries--) {
      const strict = lessons.some(({ parameter }) => parameter === STRICT_ORDER.parameter)
      const messages = (strict ? strictOrder(request.messages) : request.messages).map(messageBody)
      const body = { ...taught(whole, lessons), messages }
      try {
        const response = await post({
          url,
          apiKey: settings.apiKey,
          body: JSON.stringify(body),
          limits: LIMITS,
          clock,
          connections,
          signal,
        })
        // A lesson counts once a request succeeds with it.
        if (retries < MAX_LESSONS) learnt.set(request.model, lessons)
        return response
      } catch (error) {
        const lesson = retries > 0 ? lessonOf(error, body) : null
        if (lesson === null || (lesson === STRICT_ORDER && strict)) throw error
        lessons = [...lessons.filter(({ parameter }) => parameter !== lesson.parameter), lesson]
        log.info({ model: request.model, ...lesson }, 'llm.parameter_rejected')
      }
    }
  }

  return {
    id,
    firstTokenDeadlineMs: settings.firstTokenMs ?? 1800,
    deadlineSet: settings.firstTokenMs !== undefined,
    reasoning: manners.of(`${id} reasoning`),
    generate(request, events) {
      const tools = request.tools.map(({ name }) => name)
      const counted = (promptTokens: number): void => compare(request, promptTokens)
      return streamReply(
        events,
        (signal) => ask(request, signal),
        (signal) => new ChatReader(tools, events, signal, counted),
      )
    },
  }
}

/**
 * Values of `finish_reason` for an answer that the model did not finish: two of OpenAI, one of DeepSeek, one of vLLM.
 * https://platform.openai.com/docs/api-reference/chat/object, https://api-docs.deepseek.com/api/create-chat-completion
 */
const CUTS: ReadonlySet<unknown> = new Set([
  'length',
  'content_filter',
  'insufficient_system_resource',
  'abort',
])

/** Reads the chunks of one reply and reports them; reports nothing once the signal is aborted. */
class ChatReader implements ReplyReader {
  readonly #events: GenerateEvents
  readonly #signal: AbortSignal
  readonly #tools: ToolCallAssembly
  /** True if a part of the answer was received. */
  #began = false
  #finished = false
  /** True if the server ended the answer before the model had finished. */
  #cut = false
  #usage: { promptTokens: number; completionTokens: number } | null = null
  /** `[DONE]` was received; anything after it is ignored. */
  complete = false

  readonly #counted: (promptTokens: number) => void

  /**
   * `tools` are the names of the declared tools. `counted` gets the number of prompt tokens by the count of the
   * server.
   */
  constructor(
    tools: readonly string[],
    events: GenerateEvents,
    signal: AbortSignal,
    counted: (promptTokens: number) => void,
  ) {
    this.#tools = new ToolCallAssembly(tools)
    this.#events = events
    this.#signal = signal
    this.#counted = counted
  }

  take(message: ReplyMessage | null): void {
    if (message === null) {
      this.complete = true
      return
    }
    const { event, value: chunk, whole } = message
    if (isError(event, chunk)) throw streamedError(chunk)
    this.#readUsage(chunk.usage)
    const choice: unknown = Array.isArray(chunk.choices) ? chunk.choices[0] : undefined
    if (!isRecord(choice)) return
    if (choice.finish_reason === 'error') throw streamedError(chunk)
    // A body without a stream is complete by itself.
    if (typeof choice.finish_reason === 'string' || whole) this.#finished = true
    if (CUTS.has(choice.finish_reason)) this.#cut = true
    if (isRecord(choice.delta)) this.#readDelta(choice.delta)
    // Some servers repeat the whole message at the end of a stream.
    else if (isRecord(choice.message) && !this.#began) this.#readDelta(choice.message)
  }

  /** Ends the reply. Throws when the stream broke off before the model had finished. */
  finish(): void {
    if (this.#signal.aborted) return
    if (!this.complete && !this.#finished) {
      throw new EngineError('vendor_failed', 'the language model closed the stream before it had finished', {
        retryable: true,
      })
    }
    // Some servers report `stop` although they called tools, so the collected calls decide.
    const calls = this.#tools.finish()
    if (calls.length > 0) this.#events.toolCalls(calls)
    if (this.#signal.aborted) return
    if (this.#usage !== null) this.#counted(this.#usage.promptTokens)
    this.#events.done(this.#usage, this.#cut)
  }

  #readDelta(delta: Readonly<Record<string, unknown>>): void {
    if (isWork(delta) && !this.#signal.aborted) this.#events.progress?.()
    // `reasoning_content` is not spoken. A refusal replaces the content.
    for (const text of [...textsOf(delta.content), ...textsOf(delta.refusal)]) {
      if (text === '' || this.#signal.aborted) continue
      this.#began = true
      this.#events.text(text)
    }
    // The older field holds one call.
    const calls = isRecord(delta.function_call)
      ? [{ index: 0, function: delta.function_call }]
      : delta.tool_calls
    if (Array.isArray(calls) && calls.length > 0) this.#began = true
    this.#tools.add(calls)
  }

  #readUsage(usage: unknown): void {
    if (!isRecord(usage)) return
    const { prompt_tokens: prompt, completion_tokens: completion } = usage
    if (typeof prompt === 'number' && typeof completion === 'number') {
      this.#usage = { promptTokens: prompt, completionTokens: completion }
    }
  }
}

/** Tells whether a delta holds reasoning, or a part of a tool call; servers name reasoning differently. */
function isWork({
  content,
  reasoning_content,
  reasoning,
  thinking,
  tool_calls: calls,
}: Readonly<Record<string, unknown>>): boolean {
  const reasons = [reasoning_content, reasoning, thinking].some(
    (text) => typeof text === 'string' && text !== '',
  )
  const parts = Array.isArray(content) && content.some((part) => isRecord(part) && part.type === 'thinking')
  return reasons || parts || (Array.isArray(calls) && calls.length > 0)
}

/** Returns the texts of a content: one text, or parts. Some parts may be thoughts (Mistral's Magistral). */
function textsOf(content: unknown): readonly string[] {
  if (typeof content === 'string') return [content]
  if (!Array.isArray(content)) return []
  return content.flatMap((part: unknown) => {
    if (!isRecord(part) || (part.type !== 'text' && part.type !== 'output_text')) return []
    return typeof part.text === 'string' ? [part.text] : []
  })
}

/** Tells whether a message reports an error: by an event of that name, by a field `error`, or as an object of vLLM. */
function isError(event: string, { error, object, type }: Readonly<Record<string, unknown>>): boolean {
  return (
    event === 'error' || (error !== undefined && error !== null) || object === 'error' || type === 'error'
  )
}

function streamedError(chunk: Readonly<Record<string, unknown>>): EngineError {
  const detail = isRecord(chunk.error) ? chunk.error : chunk
  const limited = /rate_limit|insufficient_quota|\b429\b/.test(
    `${String(detail.code)} ${String(detail.type)}`,
  )
  return new EngineError(
    limited ? 'vendor_rate_limited' : 'vendor_failed',
    `the language model reported: ${errorMessageOf(JSON.stringify(chunk)).slice(0, 300)}`,
    { retryable: true },
  )
}

function bodyOf(request: GenerateRequest): Record<string, unknown> {
  const body: Record<string, unknown> = {
    model: request.model,
    stream: true,
    stream_options: { include_usage: true },
  }
  if (request.tools.length > 0) {
    body.tools = request.tools.map(({ name, description, parameters }) => ({
      type: 'function',
      function: { name, description, parameters },
    }))
    body.tool_choice = 'auto'
  }
  return body
}

function messageBody(message: ChatMessage): Record<string, unknown> {
  switch (message.role) {
    case 'system':
    case 'user':
      return { role: message.role, content: message.content }
    case 'tool':
      return { role: 'tool', tool_call_id: message.toolCallId, content: message.content }
    case 'assistant': {
      const calls = message.toolCalls ?? []
      if (calls.length === 0) return { role: 'assistant', content: message.content ?? '' }
      return {
        role: 'assistant',
        content: message.content,
        tool_calls: calls.map((call) => ({
          id: call.id,
          type: 'function',
          function: { name: call.name, arguments: JSON.stringify(call.arguments) },
        })),
      }
    }
  }
}
