import type { ChosenModel, RecognitionMode } from '../agent/agent-spec.js'
import { ESPEAK_PACE_MAX, ESPEAK_PACE_MIN, ESPEAK_VOICES, VOICE_LANGUAGES } from './espeak/voices.js'
import { BULBUL_MODELS } from './sarvam/voices.js'

/*
 * What an agent can be configured with: voices, language models and recognition models, and the
 * vendor (id of `registry.ts`) behind each. Pure data; the control plane validates with it.
 */

/** The part of the provider settings that decides what is offered; `ProviderSettings` fits. */
export interface CatalogueProviders {
  readonly openai: {
    readonly chatModel: string
    /** Null or absent: as the model's name tells. */
    readonly chatWindowTokens?: number | null
    readonly transcriptionModel: string
    readonly speechModel: string
    readonly speechVoice: string
    readonly realtime?: { readonly models: readonly string[] } | null
  } | null
  readonly deepgram?: object | null
  readonly sarvam?: object | null
  readonly elevenlabs?: { readonly voices: readonly { readonly name: string }[] } | null
  readonly cartesia?: { readonly voices: readonly { readonly name: string }[] } | null
  /** A second endpoint for chat completions, and the model asked there. */
  readonly secondChat?: { readonly model: string } | null
  readonly fallbacks?: FallbackNames | null
}

/** Who stands in when a vendor fails, in order; null: one of each other vendor that is configured. */
export interface FallbackNames {
  /** Models. */
  readonly stt: readonly string[] | null
  readonly llm: readonly string[] | null
  /** `model/voice`, or a model alone. */
  readonly tts: readonly string[] | null
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
  /** Tokens of a prompt and its answer together, as far as that is known; absent: what is usual. */
  readonly windowTokens?: number
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
export const SECOND_CHAT = 'openai-second'
/** Models that hear and speak by themselves: an agent with one has it for all three of its models. */
export const OPENAI_REALTIME = 'openai-realtime'
export const DEEPGRAM = 'deepgram'
export const SARVAM = 'sarvam'
export const ELEVENLABS = 'elevenlabs'
export const CARTESIA = 'cartesia'

/** The models that need no account: what a fresh installation runs on. */
export const EMBEDDED_LANGUAGE_MODEL = 'parley-rules-1'
export const EMBEDDED_RECOGNITION_MODEL = 'parley-sandbox'
export const EMBEDDED_SPEECH_MODEL = 'espeak-ng'
export const EMBEDDED_VOICE = 'asha'

/** Sarvam's model for voice agents. */
const SARVAM_CHAT_MODEL = 'sarvam-105b-conversations'

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
/** Those of them that its realtime models have. */
const REALTIME_VOICES = [
  'marin',
  'cedar',
  'alloy',
  'ash',
  'ballad',
  'coral',
  'echo',
  'sage',
  'shimmer',
  'verse',
]
const OPENAI_OWN_MODEL = /^(gpt-4o-mini-tts|tts-1)/

const DEEPGRAM_MODELS: readonly RecognitionEntry[] = [
  {
    vendor: DEEPGRAM,
    sttModel: 'nova-3',
    label: 'Deepgram Nova-3',
    languages: ['en-IN', 'hi-IN', 'ta-IN'],
    modes: ['transcribe'],
  },
  {
    vendor: DEEPGRAM,
    sttModel: 'flux-general-en',
    label: 'Deepgram Flux, decides the end of turn itself',
    languages: ['en-IN'],
    modes: ['transcribe'],
  },
  {
    vendor: DEEPGRAM,
    sttModel: 'flux-general-multi',
    label: 'Deepgram Flux, several languages',
    languages: ['en-IN', 'hi-IN'],
    modes: ['transcribe'],
  },
]

const SARVAM_MODELS: readonly RecognitionEntry[] = [
  {
    vendor: SARVAM,
    sttModel: 'saaras:v3-realtime',
    label: 'Sarvam Saaras v3, with partial texts',
    languages: VOICE_LANGUAGES,
    modes: ['transcribe', 'translate', 'codemix'],
  },
  {
    vendor: SARVAM,
    sttModel: 'saaras:v3',
    label: 'Sarvam Saaras v3',
    languages: VOICE_LANGUAGES,
    modes: ['transcribe', 'translate', 'codemix'],
  },
]

const ELEVENLABS_MODELS = ['eleven_flash_v2_5', 'eleven_turbo_v2_5', 'eleven_multilingual_v2'] as const
const CARTESIA_MODELS = ['sonic-3', 'sonic-3.5', 'sonic-latest'] as const
/** The contract's languages that both vendors list: all but Odia. */
const WITHOUT_ODIA = VOICE_LANGUAGES.filter((language) => language !== 'od-IN')

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
  for (const sttModel of realtimeModels(providers)) {
    entries.push({
      vendor: OPENAI_REALTIME,
      sttModel,
      label: `What ${sttModel} hears, written down beside it`,
      languages: VOICE_LANGUAGES,
      modes: ['transcribe'],
    })
  }
  if (providers.deepgram) entries.push(...DEEPGRAM_MODELS)
  if (providers.sarvam) entries.push(...SARVAM_MODELS)
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
      ...windowOf(providers.openai.chatModel, providers.openai.chatWindowTokens),
    })
  }
  if (providers.secondChat) {
    const { model } = providers.secondChat
    entries.push({ vendor: SECOND_CHAT, llmModel: model, label: 'Second OpenAI-compatible endpoint' })
  }
  if (providers.sarvam) {
    entries.push({ vendor: SARVAM, llmModel: SARVAM_CHAT_MODEL, label: 'Sarvam 105B for conversations' })
  }
  for (const llmModel of realtimeModels(providers)) {
    entries.push({
      vendor: OPENAI_REALTIME,
      llmModel,
      label: 'OpenAI Realtime, hears and speaks by itself: the same name is its ttsModel and sttModel',
    })
  }
  return entries
}

function realtimeModels({ openai }: CatalogueProviders): readonly string[] {
  return openai?.realtime?.models ?? []
}

export function voices(providers: CatalogueProviders): readonly VoiceEntry[] {
  // What a model that hears and speaks writes down goes with its own voices alone.
  const sttModels = recognitionModels(providers)
    .filter(({ vendor }) => vendor !== OPENAI_REALTIME)
    .map((entry) => entry.sttModel)
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
  for (const ttsModel of realtimeModels(providers)) {
    for (const ttsVoice of REALTIME_VOICES) {
      entries.push({
        vendor: OPENAI_REALTIME,
        ttsModel,
        ttsVoice,
        gender: 'neutral',
        languages: VOICE_LANGUAGES,
        sttModels: [ttsModel],
        paceMin: 0.25,
        paceMax: 1.5,
      })
    }
  }
  return [...entries, ...hostedVoices(providers, sttModels)]
}

function hostedVoices(providers: CatalogueProviders, sttModels: readonly string[]): VoiceEntry[] {
  const entries: VoiceEntry[] = []
  for (const { model, pace, female, male, speakers } of providers.sarvam ? BULBUL_MODELS : []) {
    for (const ttsVoice of speakers) {
      entries.push({
        vendor: SARVAM,
        ttsModel: model,
        ttsVoice,
        gender: female.includes(ttsVoice) ? 'female' : male.includes(ttsVoice) ? 'male' : 'neutral',
        languages: VOICE_LANGUAGES,
        sttModels,
        paceMin: pace[0],
        paceMax: pace[1],
      })
    }
  }
  const named = [
    { vendor: ELEVENLABS, of: providers.elevenlabs, models: ELEVENLABS_MODELS, pace: [0.7, 1.2] },
    { vendor: CARTESIA, of: providers.cartesia, models: CARTESIA_MODELS, pace: [0.6, 1.5] },
  ] as const
  for (const { vendor, of, models, pace } of named) {
    for (const { name } of of?.voices ?? []) {
      for (const ttsModel of models) {
        entries.push({
          vendor,
          ttsModel,
          ttsVoice: name,
          gender: 'neutral',
          languages: WITHOUT_ODIA,
          sttModels,
          paceMin: pace[0],
          paceMax: pace[1],
        })
      }
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

/** As a conversation runs it. */
export function chosenModel({ vendor, llmModel, windowTokens }: LanguageModelEntry): ChosenModel {
  return { vendor, model: llmModel, ...(windowTokens === undefined ? {} : { windowTokens }) }
}

/** OpenAI's own since 2024 take this or more. */
const OPENAI_WINDOW_TOKENS = 128_000
const OPENAI_OWN_CHAT = /^(chatgpt-|gpt-4o|gpt-4\.1|gpt-[5-9]|o[1-9](-|$))/

function windowOf(model: string, configured: number | null = null): { readonly windowTokens?: number } {
  if (configured !== null) return { windowTokens: configured }
  return OPENAI_OWN_CHAT.test(model) ? { windowTokens: OPENAI_WINDOW_TOKENS } : {}
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
