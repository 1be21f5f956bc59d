import type { RecognitionMode } from '../spec.js'
import { ESPEAK_PACE_MAX, ESPEAK_PACE_MIN, ESPEAK_VOICES, VOICE_LANGUAGES } from './espeak/voices.js'

/*
 * What an agent can be configured with: voices, language models and recognition models, and the
 * vendor (id of `registry.ts`) behind each. Pure data; the control plane validates with it.
 */

/** The part of the provider settings that decides what is offered; `ProviderSettings` fits. */
export interface CatalogueProviders {
  readonly openai: {
    readonly chatModel: string
    readonly transcriptionModel: string
    readonly speechModel: string
    readonly speechVoice: string
  } | null
}

export interface VoiceEntry {
  readonly vendor: string
  readonly ttsModel: string
  readonly ttsVoice: string
  readonly gender: 'female' | 'male' | 'neutral'
  readonly languages: readonly string[]
  /** Recognition models that go with it. */
  readonly sttModels: readonly string[]
  readonly paceMin: number
  readonly paceMax: number
}

export interface LanguageModelEntry {
  readonly vendor: string
  readonly llmModel: string
  readonly label: string
}

export interface RecognitionEntry {
  readonly vendor: string
  readonly sttModel: string
  readonly label: string
  readonly languages: readonly string[]
  /** What it can write (`voice.sttMode`). */
  readonly modes: readonly RecognitionMode[]
}

export const EMBEDDED = 'embedded'
export const OPENAI = 'openai'

/** The models that need no account: what a fresh installation runs on. */
export const EMBEDDED_LANGUAGE_MODEL = 'parley-rules-1'
export const EMBEDDED_RECOGNITION_MODEL = 'parley-sandbox'
export const EMBEDDED_SPEECH_MODEL = 'espeak-ng'
export const EMBEDDED_VOICE = 'asha'

// The speech models of OpenAI itself have these; a clone's voices are any string, so that only the
// configured one is known.
const OPENAI_VOICES = [
  'alloy',
  'ash',
  'ballad',
  'coral',
  'echo',
  'fable',
  'onyx',
  'nova',
  'sage',
  'shimmer',
  'verse',
  'marin',
  'cedar',
]
const OPENAI_OWN_MODEL = /^(gpt-4o-mini-tts|tts-1)/

export function recognitionModels(providers: CatalogueProviders): readonly RecognitionEntry[] {
  const entries: RecognitionEntry[] = [
    {
      vendor: EMBEDDED,
      sttModel: EMBEDDED_RECOGNITION_MODEL,
      label: 'Sandbox recognition: hears when, knows what only of simulated speakers',
      languages: VOICE_LANGUAGES,
      // Of a simulated person it writes the script, whatever the mode.
      modes: ['transcribe', 'translate', 'codemix'],
    },
  ]
  if (providers.openai !== null) {
    entries.push({
      vendor: OPENAI,
      sttModel: providers.openai.transcriptionModel,
      label: 'OpenAI-compatible transcription',
      languages: VOICE_LANGUAGES,
      // OpenAI's own newer models have no translation; models of the whisper family do.
      modes: /^gpt-4o/.test(providers.openai.transcriptionModel)
        ? ['transcribe', 'codemix']
        : ['transcribe', 'translate', 'codemix'],
    })
  }
  return entries
}

export function languageModels(providers: CatalogueProviders): readonly LanguageModelEntry[] {
  const entries: LanguageModelEntry[] = [
    { vendor: EMBEDDED, llmModel: EMBEDDED_LANGUAGE_MODEL, label: 'Sandbox receptionist (rules, no model)' },
  ]
  if (providers.openai !== null) {
    entries.push({
      vendor: OPENAI,
      llmModel: providers.openai.chatModel,
      label: 'OpenAI-compatible chat completions',
    })
  }
  return entries
}

export function voices(providers: CatalogueProviders): readonly VoiceEntry[] {
  const sttModels = recognitionModels(providers).map((entry) => entry.sttModel)
  const entries: VoiceEntry[] = ESPEAK_VOICES.map(({ voice, gender }) => ({
    vendor: EMBEDDED,
    ttsModel: EMBEDDED_SPEECH_MODEL,
    ttsVoice: voice,
    gender,
    languages: VOICE_LANGUAGES,
    sttModels,
    paceMin: ESPEAK_PACE_MIN,
    paceMax: ESPEAK_PACE_MAX,
  }))
  if (providers.openai !== null) {
    const { speechModel, speechVoice } = providers.openai
    const names = OPENAI_OWN_MODEL.test(speechModel) ? [speechVoice, ...OPENAI_VOICES] : [speechVoice]
    for (const ttsVoice of new Set(names)) {
      entries.push({
        vendor: OPENAI,
        ttsModel: speechModel,
        ttsVoice,
        gender: 'neutral',
        languages: VOICE_LANGUAGES,
        sttModels,
        paceMin: 0.25,
        paceMax: 4,
      })
    }
  }
  return entries
}

/** The catalogue row of a (model, voice) pair, or null: such an agent is refused with 422. */
export function findVoice(
  ttsModel: string,
  ttsVoice: string,
  providers: CatalogueProviders,
): VoiceEntry | null {
  return voices(providers).find((entry) => entry.ttsModel === ttsModel && entry.ttsVoice === ttsVoice) ?? null
}

export function findLanguageModel(
  llmModel: string,
  providers: CatalogueProviders,
): LanguageModelEntry | null {
  return languageModels(providers).find((entry) => entry.llmModel === llmModel) ?? null
}

export function findRecognitionModel(
  sttModel: string,
  providers: CatalogueProviders,
): RecognitionEntry | null {
  return recognitionModels(providers).find((entry) => entry.sttModel === sttModel) ?? null
}
