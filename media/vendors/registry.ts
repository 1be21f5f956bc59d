import { ANTHROPIC } from './anthropic/module.js'
import { ASSEMBLYAI } from './assemblyai/module.js'
import { AZURE } from './azure/module.js'
import { CARTESIA } from './cartesia/module.js'
import { DEEPGRAM } from './deepgram/module.js'
import { ELEVENLABS } from './elevenlabs/module.js'
import { EMBEDDED_VENDOR } from './embedded/module.js'
import { GEMINI } from './gemini/module.js'
import { GOOGLE } from './google/module.js'
import { OPENAI_VENDOR } from './openai/module.js'
import { SECOND_CHAT } from './openai/second-chat.js'
import { SARVAM } from './sarvam/module.js'
import { SONIOX } from './soniox/module.js'
import type { CatalogueData, VendorModule } from './vendor-module.js'

/** Every vendor, in the order of the catalogue, of `parley --help` and of automatic fallbacks. */
export const VENDOR_MODULES = [
  EMBEDDED_VENDOR,
  OPENAI_VENDOR,
  SECOND_CHAT,
  ANTHROPIC,
  GEMINI,
  DEEPGRAM,
  SARVAM,
  SONIOX,
  ELEVENLABS,
  ASSEMBLYAI,
  GOOGLE,
  AZURE,
  CARTESIA,
] as const satisfies readonly VendorModule[]

type Module = (typeof VENDOR_MODULES)[number]

/** Settings of the vendors by module id; absent or null: not configured. */
export type VendorSettings = {
  readonly [M in Module as M['id']]?:
    | (M extends VendorModule<string, infer Settings> ? Settings : never)
    | null
}

/** Vendor settings and keys of the operator; passed to each media worker once, never logged. */
export type ProviderSettings = VendorSettings & {
  readonly fallbacks?: FallbackNames | null
  /** Contents of the operator's catalogue file. */
  readonly catalogue?: CatalogueData | null
  /** False when the optional package of the embedded voices is not installed. */
  readonly embeddedVoices?: boolean
}

/** Fallbacks of each part in their order; null: one of each other vendor that is configured. */
export interface FallbackNames {
  /** Names of models. */
  readonly stt: readonly string[] | null
  readonly llm: readonly string[] | null
  /** `model/voice`, or a model alone. */
  readonly tts: readonly string[] | null
}
