import { LearntManners } from '../../agent/learnt-manners.js'
import { leastTokens } from '../../agent/llm/context-window.js'
import type { ChatMessage, GenerateEvents, GenerateRequest, LanguageModel } from '../../agent/vendor-ports.js'
import { EngineError } from '../../base/errors.js'
import { parseForeignJson } from '../../base/foreign-text.js'
import { isRecord } from '../shared/json.js'
import { type ReplyReader, streamReply } from '../shared/reply-stream.js'
import type { SseEvent } from '../shared/sse.js'
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
    generate(request, events) {
      return streamReply(
        events,
        (signal) => ask(request, signal),
        (signal) => new ChatReader(events, signal, (promptTokens) => compare(request, promptTokens)),
      )
    },
  }
}

/** Reads the chunks of one reply and reports them; reports nothing once the signal is aborted. */
class ChatReader implements ReplyReader {
  readonly #events: GenerateEvents
  readonly #signal: AbortSignal
  readonly #tools = new ToolCallAssembly()
  #finished = false
  #usage: { promptTokens: number; completionTokens: number } | null = null
  /** `[DONE]` was received; anything after it is ignored. */
  complete = false

  readonly #counted: (promptTokens: number) => void

  /** `counted` gets the tokens of the prompt as the server counted them. */
  constructor(events: GenerateEvents, signal: AbortSignal, counted: (promptTokens: number) => void) {
    this.#events = events
    this.#signal = signal
    this.#counted = counted
  }

  take({ event, data }: SseEvent): void {
    if (this.complete || this.#signal.aborted || data.trim() === '') return
    if (data.trim() === '[DONE]') {
      this.complete = true
      return
    }
    let chunk: unknown
    try {
      chunk = parseForeignJson(data)
    } catch (error) {
      throw new EngineError('vendor_failed', 'the language model sent invalid JSON', {
        cause: error,
        context: { length: data.length },
      })
    }
    if (!isRecord(chunk)) return
    if (event === 'error' || (chunk.error !== undefined && chunk.error !== null))
      throw streamedError(data, chunk)
    this.#readUsage(chunk.usage)
    const choice: unknown = Array.isArray(chunk.choices) ? chunk.choices[0] : undefined
    if (!isRecord(choice)) return
    if (typeof choice.finish_reason === 'string') this.#finished = true
    const delta = choice.delta ?? choice.message
    if (isRecord(delta)) this.#readDelta(delta)
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
    this.#events.done(this.#usage)
  }

  #readDelta(delta: Record<string, unknown>): void {
    if (isWork(delta) && !this.#signal.aborted) this.#events.progress?.()
    // `reasoning_content` is not spoken. A refusal replaces the content.
    for (const text of [delta.content, delta.refusal]) {
      if (typeof text === 'string' && text !== '' && !this.#signal.aborted) this.#events.text(text)
    }
    this.#tools.add(delta.tool_calls)
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
  reasoning_content: content,
  reasoning,
  tool_calls: calls,
}: Record<string, unknown>): boolean {
  const reasons = [content, reasoning].some((text) => typeof text === 'string' && text !== '')
  return reasons || (Array.isArray(calls) && calls.length > 0)
}

function streamedError(data: string, chunk: Record<string, unknown>): EngineError {
  const detail = isRecord(chunk.error) ? chunk.error : chunk
  const limited = /rate_limit|insufficient_quota/.test(`${String(detail.code)} ${String(detail.type)}`)
  return new EngineError(
    limited ? 'vendor_rate_limited' : 'vendor_failed',
    `the language model reported: ${errorMessageOf(data).slice(0, 300)}`,
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
