import type { Rate } from '../../base/frame.js'

/** Settings of an OpenAI-compatible endpoint. `baseUrl` usually ends in `/v1`. */
export interface OpenAiSettings {
  readonly baseUrl: string
  /** API key, or null for local servers without one. Never logged. */
  readonly apiKey: string | null
  readonly chatModel: string
  /** Context window in tokens; null or absent: derived from the model's name. */
  readonly chatWindowTokens?: number | null
  readonly transcriptionModel: string
  readonly speechModel: string
  readonly speechVoice: string
  /** Rate (Hz) of the headerless PCM from `audio/speech`: 24000 with OpenAI itself, other servers differ. */
  readonly speechRate: Rate
  /** Speech-to-speech models of the same endpoint, or null. */
  readonly realtime?: RealtimeSettings | null
}

export interface RealtimeSettings {
  /** Models; the first one is the default. */
  readonly models: readonly string[]
  /** Model that transcribes the caller alongside the speech-to-speech model. */
  readonly transcriptionModel: string
  /**
   * Endpointing: by the model from the words (`semantic`), by the vendor from silence (`server`), or by our
   * detector (`ours`).
   */
  readonly turns: 'semantic' | 'server' | 'ours'
}
