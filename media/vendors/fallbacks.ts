import type {
  FallbackRecogniser,
  FallbackVendors,
  FallbackVoice,
  RecognitionMode,
} from '../agent/agent-spec.js'
import {
  type CatalogueProviders,
  chosenModel,
  EMBEDDED,
  findLanguageModel,
  isSpeechToSpeech,
  type LanguageModelEntry,
  languageModels,
  type RecognitionEntry,
  recognitionModels,
  type VoiceEntry,
  voices,
} from './catalogue.js'

/*
 * Fallback vendors of an agent: the operator's list, or else one of each other configured vendor in the order
 * of the catalogue. Pure.
 */

/** Catalogue entries of the agent's primary models. */
export interface PrimaryVendors {
  readonly voice: VoiceEntry
  readonly pace: number
  readonly languages: readonly string[]
  readonly recognition: RecognitionEntry
  readonly mode: RecognitionMode
  readonly model: LanguageModelEntry
}

/**
 * Returns the fallbacks for each part. Embedded vendors are never a fallback and have none. A
 * speech-to-speech model falls back to a complete STT-LLM-TTS pipeline or to nothing.
 */
export function fallbacksOf(primary: PrimaryVendors, providers: CatalogueProviders): FallbackVendors {
  if (isSpeechToSpeech(primary.model.vendor)) {
    const parts = {
      speechToText: sttFallbacks(primary, providers),
      languageModel: llmFallbacks(primary, providers),
      textToSpeech: voiceFallbacks(primary, providers),
    }
    const complete = parts.speechToText.length > 0 && parts.languageModel.length > 0
    return complete ? parts : { speechToText: [], languageModel: [], textToSpeech: [] }
  }
  return {
    speechToText: canFallBack(primary.recognition.vendor) ? sttFallbacks(primary, providers) : [],
    languageModel: canFallBack(primary.model.vendor) ? llmFallbacks(primary, providers) : [],
    textToSpeech: canFallBack(primary.voice.vendor) ? voiceFallbacks(primary, providers) : [],
  }
}

/** Embedded vendors and speech-to-speech models are never fallbacks. */
function canFallBack(vendor: string): boolean {
  return vendor !== EMBEDDED && !isSpeechToSpeech(vendor)
}

function voiceFallbacks(primary: PrimaryVendors, providers: CatalogueProviders): readonly FallbackVoice[] {
  const { voice, pace, languages } = primary
  const rows = voices(providers).filter(
    (row) => canFallBack(row.vendor) && row !== voice && !same(row, voice),
  )
  const usable = rows.filter((row) => languages.some((language) => row.languages.includes(language)))
  const missing = languages.filter((language) => !voice.languages.includes(language))
  // First a voice of the same vendor for languages that the agent's primary voice lacks.
  const sameVendor = missing.flatMap((language) =>
    mostSimilar(
      voice,
      usable.filter((row) => row.vendor === voice.vendor && row.languages.includes(language)),
    ),
  )
  const named = providers.fallbacks?.tts
  const others = named
    ? named.flatMap((name) =>
        mostSimilar(
          voice,
          usable.filter((row) => isNamed(name, row)),
        ),
      )
    : vendorsOf(usable, voice.vendor).flatMap((vendor) =>
        mostSimilar(
          voice,
          usable.filter((row) => row.vendor === vendor),
        ),
      )
  return [...new Set([...sameVendor, ...others])].map((row) => ({
    vendor: row.vendor,
    model: row.ttsModel,
    voice: row.ttsVoice,
    pace: Math.min(row.paceMax, Math.max(row.paceMin, pace)),
    languages: row.languages,
  }))
}

function same(row: VoiceEntry, voice: VoiceEntry): boolean {
  return row.vendor === voice.vendor && row.ttsModel === voice.ttsModel && row.ttsVoice === voice.ttsVoice
}

/** An entry of the operator's list is `model/voice` or a model alone. */
function isNamed(name: string, row: VoiceEntry): boolean {
  return name === row.ttsModel || name === `${row.ttsModel}/${row.ttsVoice}`
}

/**
 * Returns the row most similar to the voice: same model and gender, else same gender, else any. Where the gender of the
 * voice is unknown, every one fits.
 */
function mostSimilar(voice: VoiceEntry, rows: readonly VoiceEntry[]): readonly VoiceEntry[] {
  const gender = voice.gender === 'neutral' ? rows : rows.filter((row) => row.gender === voice.gender)
  const best = gender.find((row) => row.ttsModel === voice.ttsModel) ?? gender[0] ?? rows[0]
  return best === undefined ? [] : [best]
}

function vendorsOf(rows: readonly { readonly vendor: string }[], primary: string): readonly string[] {
  return [...new Set(rows.map((row) => row.vendor))].filter((vendor) => vendor !== primary)
}

function sttFallbacks(primary: PrimaryVendors, providers: CatalogueProviders): readonly FallbackRecogniser[] {
  const { recognition, languages, mode } = primary
  const rows = recognitionModels(providers).filter(
    (row) =>
      canFallBack(row.vendor) &&
      row.sttModel !== recognition.sttModel &&
      row.modes.includes(mode) &&
      languages.some((language) => row.languages.includes(language)),
  )
  // Prefers the model that understands most of the agent's languages.
  const best = (some: readonly RecognitionEntry[]) => {
    const known = (row: RecognitionEntry) => languages.filter((tag) => row.languages.includes(tag)).length
    const most = Math.max(0, ...some.map(known))
    return some.filter((row) => known(row) === most).slice(0, 1)
  }
  const named = providers.fallbacks?.stt
  const sameVendor = rows.filter(
    ({ vendor, sttModel }) => vendor === recognition.vendor && sttModel === recognition.fallback,
  )
  const chosen = named
    ? named.flatMap((name) => rows.filter((row) => row.sttModel === name))
    : [
        ...best(sameVendor),
        ...vendorsOf(rows, recognition.vendor).flatMap((vendor) =>
          best(rows.filter((row) => row.vendor === vendor)),
        ),
      ]
  return chosen.map((row) => ({ vendor: row.vendor, model: row.sttModel, mode, languages: row.languages }))
}

function llmFallbacks(
  primary: PrimaryVendors,
  providers: CatalogueProviders,
): FallbackVendors['languageModel'] {
  const named = providers.fallbacks?.llm
  const rows = languageModels(providers).filter((row) => canFallBack(row.vendor))
  const chosen = named
    ? named.flatMap((name) => {
        // The operator's endpoint may have models that the catalogue does not list.
        const row = rows.find(({ llmModel, vendor }) => llmModel === name && vendor !== primary.model.vendor)
        const found = row ?? findLanguageModel(name, providers)
        return found === null ? [] : [chosenModel(found)]
      })
    : vendorsOf(rows, primary.model.vendor).flatMap((vendor) =>
        rows
          .filter((row) => row.vendor === vendor)
          .slice(0, 1)
          .map(chosenModel),
      )
  return chosen.filter(
    ({ vendor, model }) => vendor !== primary.model.vendor || model !== primary.model.llmModel,
  )
}
