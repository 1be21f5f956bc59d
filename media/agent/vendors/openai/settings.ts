import type { Rate } from '../../../base/frame.js'

/** An OpenAI-compatible endpoint of the operator. `baseUrl` usually ends in `/v1`. */
export interface OpenAiSettings {
  readonly baseUrl: string
  /** Null for local servers that want none. Never logged. */
  readonly apiKey: string | null
  readonly chatModel: string
  /** Tokens it takes in all; null or absent: as its name tells. */
  readonly chatWindowTokens?: number | null
  readonly transcriptionModel: string
  readonly speechModel: string
  readonly speechVoice: string
  /** Rate of the headerless PCM that `audio/speech` returns: 24000 with OpenAI itself, clones differ. */
  readonly speechRate: Rate
  /** The speech-to-speech socket of the same endpoint; null when it has none. */
  readonly realtime?: RealtimeSettings | null
}

export interface RealtimeSettings {
  /** The first is what an agent is offered first. */
  readonly models: readonly string[]
  /** Writes down what the caller says, beside the model. */
  readonly transcriptionModel: string
  /** Who decides that the caller's turn is over: the model by the words, the vendor by silence, or we. */
  readonly turns: 'semantic' | 'server' | 'ours'
}
