import { LearntManners } from '../../agent/learnt-manners.js'
import type { GenerateEvents, GenerateRequest, LanguageModel } from '../../agent/vendor-ports.js'
import { EngineError } from '../../base/errors.js'
import { ToolCallAssembly } from '../openai/tool-calls.js'
import { isRecord } from '../shared/json.js'
import type { ReplyMessage } from '../shared/reply-decoder.js'
import { type ReplyReader, streamReply } from '../shared/reply-stream.js'
import { joinUrl, post, type VendorResponse } from '../shared/vendor-http.js'
import type { VendorDeps } from '../vendor-module.js'
import { messagesOf } from './messages.js'
import type { AnthropicSettings } from './settings.js'
import { firstManner, type Manner, mannerFields, nextManner } from './thinking.js'

const LIMITS = { headerMs: 8000, idleMs: 8000, totalMs: 60_000, maxBytes: 8 * 1024 * 1024 }

/** Version of the API, which the vendor keeps for good. */
const VERSION = '2023-06-01'

const ID = 'anthropic'

/**
 * Opens Anthropic's Messages API over server-sent events. Models are asked not to think before they speak; which
 * way a model takes is learnt from its refusals. https://platform.claude.com/docs/en/build-with-claude/streaming
 */
export function anthropicLanguageModel(
  settings: AnthropicSettings,
  {
    clock,
    log,
    connections,
    manners = new LearntManners(),
  }: Pick<VendorDeps, 'clock' | 'log' | 'connections' | 'manners'>,
): LanguageModel {
  const learnt = manners.of<Manner>(ID)

  const ask = async (request: GenerateRequest, signal: AbortSignal): Promise<VendorResponse> => {
    const first = learnt.get(request.model) ?? firstManner(request.model)
    let manner = first
    for (;;) {
      try {
        const response = await post({
          url: joinUrl(settings.baseUrl, 'v1/messages'),
          apiKey: settings.apiKey,
          headers: { 'x-api-key': settings.apiKey, 'anthropic-version': VERSION },
          body: JSON.stringify(bodyOf(request, manner, settings)),
          limits: LIMITS,
          clock,
          connections,
          signal,
        })
        if (manner !== first) learnt.set(request.model, manner)
        return response
      } catch (error) {
        const next = nextManner(error, manner)
        if (next === null) throw error
        manner = next
        log.info({ model: request.model, ...manner }, 'llm.parameter_rejected')
      }
    }
  }

  return {
    id: ID,
    firstTokenDeadlineMs: settings.firstTokenMs ?? 1800,
    deadlineSet: settings.firstTokenMs !== undefined,
    reasoning: manners.of(`${ID} reasoning`),
    generate(request, events) {
      const tools = request.tools.map(({ name }) => name)
      return streamReply(
        events,
        (signal) => ask(request, signal),
        (signal) => new MessageReader(tools, events, signal),
      )
    },
  }
}

function bodyOf(
  request: GenerateRequest,
  manner: Manner,
  { maxTokens, extra }: AnthropicSettings,
): Readonly<Record<string, unknown>> {
  const { system, messages } = messagesOf(request.messages)
  const tools = request.tools.map(({ name, description, parameters }) => ({
    name,
    description,
    input_schema: parameters,
  }))
  return {
    model: request.model,
    max_tokens: maxTokens,
    stream: true,
    ...(system === null ? {} : { system }),
    messages,
    ...(tools.length === 0 ? {} : { tools }),
    ...mannerFields(manner),
    ...extra,
  }
}

/** Values of `stop_reason` for a message that the model did not finish. */
const CUTS: ReadonlySet<unknown> = new Set(['max_tokens', 'model_context_window_exceeded', 'refusal'])

/** Reads the events of one message and reports them; reports nothing once the signal is aborted. */
class MessageReader implements ReplyReader {
  readonly #events: GenerateEvents
  readonly #signal: AbortSignal
  readonly #tools: ToolCallAssembly
  #promptTokens: number | null = null
  #completionTokens: number | null = null
  #stopReason: string | null = null
  #spoke = false
  complete = false

  /** `tools` are the names of the declared tools. */
  constructor(tools: readonly string[], events: GenerateEvents, signal: AbortSignal) {
    this.#tools = new ToolCallAssembly(tools)
    this.#events = events
    this.#signal = signal
  }

  take(message: ReplyMessage | null): void {
    if (message === null) {
      // The vendor does not send this mark, but compatible servers do.
      this.complete = true
      return
    }
    const { value: event } = message
    if (message.event === 'error' || isRecord(event.error)) throw streamedError(event.error)
    switch (event.type) {
      case 'message_start':
        if (isRecord(event.message)) this.#readUsage(event.message.usage)
        break
      case 'content_block_start':
        this.#startBlock(event)
        break
      case 'content_block_delta':
        if (isRecord(event.delta)) this.#readDelta(event.index, event.delta)
        break
      case 'message_delta':
        this.#readUsage(event.usage)
        if (isRecord(event.delta)) this.#readStop(event.delta.stop_reason)
        break
      case 'message_stop':
        this.complete = true
        break
      case 'message':
        this.#readWhole(event)
        break
    }
  }

  finish(): void {
    if (this.#signal.aborted) return
    if (!this.complete && this.#stopReason === null) {
      throw new EngineError('vendor_failed', 'the language model closed the stream before it had finished', {
        retryable: true,
      })
    }
    // The vendor's classifiers end a reply without any text.
    if (this.#stopReason === 'refusal' && !this.#spoke) {
      throw new EngineError('vendor_failed', 'the language model declined to answer')
    }
    const calls = this.#tools.finish()
    if (calls.length > 0) this.#events.toolCalls(calls)
    if (this.#signal.aborted) return
    const [promptTokens, completionTokens] = [this.#promptTokens, this.#completionTokens]
    this.#events.done(
      promptTokens === null || completionTokens === null ? null : { promptTokens, completionTokens },
      CUTS.has(this.#stopReason),
    )
  }

  #startBlock({ index, content_block: block }: Readonly<Record<string, unknown>>): void {
    if (!isRecord(block)) return
    if (block.type === 'text') this.#say(block.text)
    else if (block.type === 'tool_use') {
      this.#tools.add([{ index, id: block.id, function: { name: block.name, arguments: block.input } }])
      this.#events.progress?.()
    }
  }

  #readDelta(index: unknown, delta: Readonly<Record<string, unknown>>): void {
    if (delta.type === 'text_delta') this.#say(delta.text)
    else {
      // Thoughts and parts of tool calls are work without words.
      this.#events.progress?.()
      if (delta.type === 'input_json_delta') {
        this.#tools.add([{ index, function: { arguments: delta.partial_json } }])
      }
    }
  }

  /** Reads the reply of a server that ignored `stream`. */
  #readWhole(message: Readonly<Record<string, unknown>>): void {
    this.#readUsage(message.usage)
    const blocks: readonly unknown[] = Array.isArray(message.content) ? message.content : []
    blocks.forEach((block, index) => {
      if (!isRecord(block)) return
      if (block.type === 'text') this.#say(block.text)
      else if (block.type === 'tool_use') {
        this.#tools.add([{ index, id: block.id, function: { name: block.name, arguments: block.input } }])
      }
    })
    this.#readStop(message.stop_reason)
    this.complete = true
  }

  #say(text: unknown): void {
    if (typeof text !== 'string' || text === '' || this.#signal.aborted) return
    this.#spoke = true
    this.#events.text(text)
  }

  #readStop(reason: unknown): void {
    if (typeof reason === 'string') this.#stopReason = reason
  }

  /** Reads counts, which are totals so far. Tokens of the prompt cache are part of the prompt. */
  #readUsage(usage: unknown): void {
    if (!isRecord(usage)) return
    const { input_tokens: input, output_tokens: output } = usage
    if (typeof input === 'number') {
      const cached = [usage.cache_read_input_tokens, usage.cache_creation_input_tokens]
      this.#promptTokens = cached.reduce<number>(
        (sum, tokens) => sum + (typeof tokens === 'number' ? tokens : 0),
        input,
      )
    }
    if (typeof output === 'number') this.#completionTokens = output
  }
}

/** Classifies an error after the headers. https://platform.claude.com/docs/en/api/errors */
function streamedError(error: unknown): EngineError {
  const { type, message } = isRecord(error) ? error : { type: 'api_error', message: error }
  const text = `the language model reported: ${typeof message === 'string' ? message.slice(0, 300) : String(type)}`
  if (type === 'rate_limit_error') return new EngineError('vendor_rate_limited', text, { retryable: true })
  const passing = type === 'overloaded_error' || type === 'api_error' || type === 'timeout_error'
  return passing
    ? new EngineError('vendor_failed', text, { retryable: true })
    : new EngineError('vendor_rejected', text, { retryable: false })
}
