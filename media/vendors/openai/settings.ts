import type { Rate } from '../../base/frame.js'

/** Address and key of a server. */
export interface Endpoint {
  readonly baseUrl: string
  /** API key, or null for local servers without one. Never logged. */
  readonly apiKey: string | null
}

/** Settings of an OpenAI-compatible endpoint. `baseUrl` usually ends in `/v1`. */
export interface OpenAiSettings extends Endpoint {
  /** Null when the endpoint serves no chat completions. */
  readonly chatModel: string | null
  /** Fields added to every request for chat completions. */
  readonly chatExtra?: Readonly<Record<string, unknown>>
  /** The messages are sent in strict order from the first request on; otherwise once a server demands it. */
  readonly strictOrder?: boolean
  /** Time to the first token (ms) after which the request is repeated or another model asked; absent: learnt. */
  readonly firstTokenMs?: number | undefined
  /** Context window in tokens; null or absent: derived from the model's name. */
  readonly chatWindowTokens?: number | null
  /** Null when the endpoint transcribes nothing. */
  readonly transcriptionModel: string | null
  /** Endpoint of transcription when it is another one. */
  readonly transcriptionEndpoint?: Endpoint
  /** Server whose realtime socket transcribes; null or absent for upload. */
  readonly transcriptionServer?: TranscriptionServer | null
  /** Time to the text of an utterance (ms), after which the agent asks to repeat it; absent: learnt. */
  readonly transcriptionMs?: number | undefined
  /** Model for requests that name none; absent without a default, null when the endpoint does not speak. */
  readonly speechModel?: string | null
  /** Endpoint of speech when it is another one. */
  readonly speechEndpoint?: Endpoint
  /** Time to the first audio (ms), after which another voice speaks; absent: learnt. */
  readonly speechMs?: number | undefined
  readonly speechVoice: string
  /** Rate (Hz) of the headerless PCM from `audio/speech`: 24000 with OpenAI itself, other servers differ. */
  readonly speechRate: Rate
  /** Speech-to-speech models of the same endpoint, or null. */
  readonly realtime?: RealtimeSettings | null
}

/** Servers with a realtime socket for transcription. */
export type TranscriptionServer = 'openai' | 'speaches' | 'together' | 'vllm'

export interface RealtimeSettings {
  /** Models; the first one is the default. */
  readonly models: readonly string[]
  /** Model that transcribes the caller alongside the speech-to-speech model. */
  readonly transcriptionModel: string | null
  /**
   * Endpointing: by the model from the words (`semantic`), by the vendor from silence (`server`), or by our
   * detector (`ours`).
   */
  readonly turns: 'semantic' | 'server' | 'ours'
  /** How long the model thinks before it speaks; null or absent: as the vendor does by default. */
  readonly effort?: ReasoningEffort | null
}

/** Efforts of the realtime models that reason. */
export type ReasoningEffort = 'minimal' | 'low' | 'medium' | 'high' | 'xhigh'

/**
 * Models that take several languages and report those that they detected.
 * https://developers.openai.com/cookbook/examples/migrating_from_whisper_to_gpt_transcribe
 */
export const SEVERAL_LANGUAGES = /^gpt-(live-)?transcribe/

/** Returns a prompt with the names and terms of a call: a list for Whisper, a sentence for the gpt-4o models. */
export function vocabularyPrompt(model: string, vocabulary: readonly string[]): string {
  const words = vocabulary.join(', ')
  return /^gpt-4o/.test(model) ? `The speaker may say: ${words}.` : words
}
