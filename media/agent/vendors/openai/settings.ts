import type { Rate } from '../../../frame.js'

/** An OpenAI-compatible endpoint of the operator. `baseUrl` usually ends in `/v1`. */
export interface OpenAiSettings {
  readonly baseUrl: string
  /** Null for local servers that want none. Never logged. */
  readonly apiKey: string | null
  readonly chatModel: string
  readonly transcriptionModel: string
  readonly speechModel: string
  readonly speechVoice: string
  /** Rate of the headerless PCM that `audio/speech` returns: 24000 with OpenAI itself, clones differ. */
  readonly speechRate: Rate
}
