import type { TokenCount } from '../../agent/conversation/usage-meter.js'
import { vendorTag } from '../../agent/language/language-tags.js'
import { boundedCalls, toolCall } from '../../agent/tools/given-arguments.js'
import type {
  ChatMessage,
  SpeechToSpeechOptions,
  ToolCall,
  ToolDeclaration,
} from '../../agent/vendor-ports.js'
import { EngineError } from '../../base/errors.js'
import { isRecord } from '../shared/json.js'
import { type FailureClass, PERMANENT, RATE_LIMITED, TRANSIENT } from '../shared/vendor-socket.js'
import { type RealtimeSettings, SEVERAL_LANGUAGES } from './settings.js'

/*
 * Messages of OpenAI's realtime WebSocket, general availability version (2025-08; the beta had flat fields
 * and other names). Pure. https://platform.openai.com/docs/api-reference/realtime
 */

export type RealtimeMessage = Readonly<Record<string, unknown>>

/** Event id of the message that configures the session; an error that names it is final. */
export const SETUP_EVENT_ID = 'setup'

/** Builds the message that configures the whole session. */
export function sessionUpdate(
  options: SpeechToSpeechOptions,
  settings: RealtimeSettings,
  format: RealtimeMessage,
): RealtimeMessage {
  return {
    type: 'session.update',
    event_id: SETUP_EVENT_ID,
    session: {
      type: 'realtime',
      instructions: options.instructions,
      output_modalities: ['audio'],
      audio: {
        input: {
          format,
          transcription:
            settings.transcriptionModel === null
              ? null
              : transcription(settings.transcriptionModel, options.language, []),
          turn_detection: turnDetection(settings.turns),
        },
        output: { format, voice: options.voice, speed: Math.min(1.5, Math.max(0.25, options.pace)) },
      },
      tools: options.tools.map(toolOf),
      tool_choice: 'auto',
      ...(settings.effort ? { reasoning: { effort: settings.effort } } : {}),
    },
  }
}

/** Returns whether the server refused the session because of its effort: older models do not reason. */
export function refusesEffort({ code, message, param }: RealtimeMessage): boolean {
  return [code, message, param].some((text) => typeof text === 'string' && /\breasoning\b/.test(text))
}

/**
 * Returns the part that transcribes the caller. The models of 2026 take an array of languages; `several` are those of
 * a caller whose language is not known (`language` is null).
 * https://developers.openai.com/cookbook/examples/migrating_from_whisper_to_gpt_transcribe
 */
export function transcription(
  model: string,
  language: string | null,
  several: readonly string[],
): RealtimeMessage {
  const tags = (language === null ? several : [language]).map((tag) => vendorTag('iso', tag))
  if (tags.length === 0) return { model }
  if (SEVERAL_LANGUAGES.test(model)) return { model, languages: tags }
  // These models take one language, and detect it when none is given.
  return language === null ? { model } : { model, language: tags[0] }
}

/** Only our side starts and interrupts replies, whichever side detects the end of turn. */
function turnDetection(turns: RealtimeSettings['turns']): RealtimeMessage | null {
  const ours = { create_response: false, interrupt_response: false }
  switch (turns) {
    case 'semantic':
      return { type: 'semantic_vad', eagerness: 'auto', ...ours }
    case 'server':
      return {
        type: 'server_vad',
        threshold: 0.5,
        prefix_padding_ms: 300,
        silence_duration_ms: 500,
        ...ours,
      }
    case 'ours':
      return null
  }
}

function toolOf({ name, description, parameters }: ToolDeclaration): RealtimeMessage {
  return { type: 'function', name, description, parameters }
}

/** Builds the items that give a new connection the history of the conversation. */
export function historyItems(history: readonly ChatMessage[]): readonly RealtimeMessage[] {
  return history.flatMap((message): RealtimeMessage[] => {
    if (message.role === 'tool') return [toolOutput(message.toolCallId, message.content)]
    if (message.role !== 'assistant') return [textItem(message.role, message.content)]
    const calls = (message.toolCalls ?? []).map(
      (call): RealtimeMessage => ({
        type: 'conversation.item.create',
        item: {
          type: 'function_call',
          call_id: call.id,
          name: call.name,
          arguments: JSON.stringify(call.arguments),
        },
      }),
    )
    return message.content ? [textItem('assistant', message.content), ...calls] : calls
  })
}

/** Builds a text item; assistant audio cannot be added to a conversation. */
export function textItem(role: 'user' | 'assistant' | 'system', text: string): RealtimeMessage {
  const type = role === 'assistant' ? 'output_text' : 'input_text'
  return {
    type: 'conversation.item.create',
    item: { type: 'message', role, content: [{ type, text }] },
  }
}

export function toolOutput(callId: string, output: string): RealtimeMessage {
  return {
    type: 'conversation.item.create',
    item: { type: 'function_call_output', call_id: callId, output },
  }
}

/** Builds the body of a response outside the conversation that speaks a fixed text. */
export function phraseResponse(text: string): RealtimeMessage {
  return {
    conversation: 'none',
    input: [],
    instructions:
      'Read the text between the marks aloud, word for word, in its own language, in the tone of a friendly telephone agent. ' +
      `Say nothing before it and nothing after it, and do not answer it.\n<<<${text}>>>`,
    output_modalities: ['audio'],
    tools: [],
    tool_choice: 'none',
  }
}

/** Returns the tool calls of a finished response. Throws EngineError `vendor_failed` when they exceed a bound. */
export function toolCallsOf(output: unknown): readonly ToolCall[] {
  if (!Array.isArray(output)) return []
  const calls = output.flatMap((item: unknown): ToolCall[] => {
    if (!isRecord(item) || item.type !== 'function_call' || typeof item.name !== 'string') return []
    const id = typeof item.call_id === 'string' ? item.call_id : String(item.id ?? '')
    return [toolCall(id, item.name, item.arguments)]
  })
  return boundedCalls(calls)
}

export function usageOf(usage: unknown): TokenCount | null {
  if (!isRecord(usage)) return null
  const input = isRecord(usage.input_token_details) ? usage.input_token_details : {}
  const output = isRecord(usage.output_token_details) ? usage.output_token_details : {}
  return {
    promptTokens: count(usage.input_tokens),
    completionTokens: count(usage.output_tokens),
    sound: {
      promptTokens: count(input.audio_tokens),
      completionTokens: count(output.audio_tokens),
      cachedTokens: count(input.cached_tokens),
    },
  }
}

function count(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) && value > 0 ? value : 0
}

/** Classifies an `error` object, from an error message or from `status_details`. */
export function realtimeError(error: unknown, what: string): EngineError {
  const fields = isRecord(error) ? error : {}
  const code = typeof fields.code === 'string' ? fields.code : ''
  const type = typeof fields.type === 'string' ? fields.type : ''
  const text = typeof fields.message === 'string' ? fields.message.slice(0, 300) : ''
  const failure = classOf(`${type} ${code}`)
  return new EngineError(failure.code, `${what}: ${code || type}: ${text}`, {
    retryable: failure.retryable,
    context: { vendorCode: code || type },
  })
}

function classOf(what: string): FailureClass {
  // An exhausted quota is permanent, unlike a rate limit.
  if (/insufficient_quota|invalid_api_key|authentication|permission|not_found/.test(what)) return PERMANENT
  if (/rate_limit/.test(what)) return RATE_LIMITED
  if (/server_error|session_expired|timeout|overloaded/.test(what)) return TRANSIENT
  return /invalid_request/.test(what) ? PERMANENT : TRANSIENT
}

export function classifyClose(code: number, reason: string): FailureClass {
  if (/rate_limit/i.test(reason)) return RATE_LIMITED
  if (/invalid_api_key|insufficient_quota|model_not_found|unauthori/i.test(reason)) return PERMANENT
  // 3000: the key or the model was rejected after the handshake.
  return code === 3000 || code === 4001 ? PERMANENT : TRANSIENT
}
