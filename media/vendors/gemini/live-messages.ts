import type { TokenCount } from '../../agent/conversation/usage-meter.js'
import { boundedCalls, toolCall } from '../../agent/tools/given-arguments.js'
import type { ChatMessage, SpeechToSpeechOptions, ToolCall } from '../../agent/vendor-ports.js'
import { isRecord } from '../shared/json.js'
import { type FailureClass, PERMANENT, RATE_LIMITED, TRANSIENT } from '../shared/vendor-socket.js'

/*
 * The messages of Gemini's Live API: JSON objects with one field each.
 * https://ai.google.dev/api/live
 */

export type LiveMessage = Readonly<Record<string, unknown>>

/** A message of the conversation; the vendor knows no other roles. */
export interface LiveTurn {
  readonly role: 'user' | 'model'
  readonly parts: readonly { readonly text: string }[]
}

/** Builds the first message. Our detector delimits the caller's speech (`automaticActivityDetection.disabled`). */
export function setup({ model, voice, instructions, tools }: SpeechToSpeechOptions): LiveMessage {
  return {
    setup: {
      model: `models/${model}`,
      generationConfig: {
        responseModalities: ['AUDIO'],
        // The model speaks the language of the caller; a language cannot be set for it.
        speechConfig: { voiceConfig: { prebuiltVoiceConfig: { voiceName: voice } } },
      },
      systemInstruction: { parts: [{ text: instructions }] },
      ...(tools.length === 0
        ? {}
        : {
            tools: [
              {
                functionDeclarations: tools.map(({ name, description, parameters }) => ({
                  name,
                  description,
                  parametersJsonSchema: parameters,
                  // The reply waits for the result, as our tool rounds do.
                  behavior: 'BLOCKING',
                })),
              },
            ],
          }),
      realtimeInputConfig: { automaticActivityDetection: { disabled: true } },
      inputAudioTranscription: {},
      outputAudioTranscription: {},
      contextWindowCompression: { slidingWindow: {} },
    },
  }
}

/** Adds messages to the conversation; with `turnComplete` the model answers. */
export function clientContent(turns: readonly LiveTurn[], turnComplete: boolean): LiveMessage {
  return { clientContent: { turns, turnComplete } }
}

export function toolResponse(
  responses: readonly { readonly id: string; readonly name: string; readonly output: string }[],
): LiveMessage {
  return {
    toolResponse: {
      functionResponses: responses.map(({ id, name, output }) => ({ id, name, response: { output } })),
    },
  }
}

/** Returns a message in the vendor's roles. Notes of ours are told apart from words of the caller. */
export function turnOf(role: 'user' | 'assistant' | 'system', text: string): LiveTurn {
  if (role === 'assistant') return { role: 'model', parts: [{ text }] }
  return {
    role: 'user',
    parts: [{ text: role === 'system' ? `(Note, not said by the caller: ${text})` : text }],
  }
}

/** Returns the history of a conversation for a new connection. Tool calls of the past are notes. */
export function historyTurns(history: readonly ChatMessage[]): readonly LiveTurn[] {
  const names = new Map<string, string>()
  return history.flatMap((message): LiveTurn[] => {
    if (message.role === 'tool') {
      const name = names.get(message.toolCallId) ?? 'a tool'
      return [turnOf('system', `the result of ${name} is: ${message.content}`)]
    }
    if (message.role !== 'assistant') return [turnOf(message.role, message.content)]
    for (const { id, name } of message.toolCalls ?? []) names.set(id, name)
    return message.content ? [turnOf('assistant', message.content)] : []
  })
}

/** Builds the request to read a text aloud. The vendor has no replies outside of the conversation. */
export function phraseTurn(text: string): LiveTurn {
  const order =
    'Say the text between the marks to the caller, word for word, in its own language, and nothing else.'
  return turnOf('system', `${order} <<<${text}>>>`)
}

/** Returns the calls of `toolCall`. Throws EngineError `vendor_failed` when they exceed a bound. */
export function toolCallsOf(message: LiveMessage): readonly ToolCall[] {
  const calls = isRecord(message.toolCall) ? message.toolCall.functionCalls : null
  if (!Array.isArray(calls)) return []
  const read = calls.flatMap((call: unknown, position): ToolCall[] => {
    if (!isRecord(call) || typeof call.name !== 'string') return []
    const id = typeof call.id === 'string' && call.id !== '' ? call.id : `call_${position}`
    return [toolCall(id, call.name, call.args)]
  })
  return boundedCalls(read)
}

/** Returns base64 PCM and its rate (Hz) for each part of `modelTurn` that holds sound. */
export function soundsOf(content: LiveMessage): readonly { readonly data: string; readonly rate: number }[] {
  const parts = isRecord(content.modelTurn) ? content.modelTurn.parts : null
  if (!Array.isArray(parts)) return []
  return parts.flatMap((part: unknown) => {
    const inline = isRecord(part) && isRecord(part.inlineData) ? part.inlineData : null
    if (inline === null || typeof inline.data !== 'string') return []
    const rate = /^audio\/pcm(?:;.*?rate=(\d+))?/i.exec(String(inline.mimeType))
    return rate === null ? [] : [{ data: inline.data, rate: Number(rate[1] ?? 24_000) }]
  })
}

export function transcriptionOf(
  content: LiveMessage,
  field: 'inputTranscription' | 'outputTranscription',
): string {
  const found = content[field]
  return isRecord(found) && typeof found.text === 'string' ? found.text : ''
}

/** Returns the tokens that a message reports, or null. */
export function usageOf(message: LiveMessage): TokenCount | null {
  const usage = message.usageMetadata
  if (!isRecord(usage)) return null
  return {
    promptTokens: count(usage.promptTokenCount),
    completionTokens: count(usage.responseTokenCount),
    sound: {
      promptTokens: audioTokens(usage.promptTokensDetails),
      completionTokens: audioTokens(usage.responseTokensDetails),
      cachedTokens: count(usage.cachedContentTokenCount),
    },
  }
}

function audioTokens(details: unknown): number {
  if (!Array.isArray(details)) return 0
  return details
    .filter((detail) => isRecord(detail) && detail.modality === 'AUDIO')
    .reduce((sum: number, detail) => sum + count(detail.tokenCount), 0)
}

function count(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) && value > 0 ? value : 0
}

/** 1007 is a wrong key or field, 1008 an unknown model. A used-up quota is told by its text. */
export function classifyClose(code: number, reason: string): FailureClass {
  if (/quota|exhausted|rate limit/i.test(reason)) return RATE_LIMITED
  return code === 1007 || code === 1008 ? PERMANENT : TRANSIENT
}
