import type { FallbackRecogniser, FallbackVendors, FallbackVoice, RecognitionMode } from '../agent-spec.js'
import {
  type CatalogueProviders,
  chosenModel,
  EMBEDDED,
  findLanguageModel,
  type LanguageModelEntry,
  languageModels,
  OPENAI,
  OPENAI_REALTIME,
  type RecognitionEntry,
  recognitionModels,
  SARVAM,
  type VoiceEntry,
  voices,
} from './catalogue.js'

/*
 * Who stands in for an agent's vendors: the operator's list, else whatever else is configured, in the order
 * of the catalogue. Pure, like the catalogue.
 */

/** The agent's own, as the catalogue has them. */
export interface PrimaryVendors {
  readonly voice: VoiceEntry
  readonly pace: number
  readonly languages: readonly string[]
  readonly recognition: RecognitionEntry
  readonly mode: RecognitionMode
  readonly model: LanguageModelEntry
}

/**
 * A spare in each part: vendors of the operator's; the embedded ones stand behind nobody and need nobody.
 * Behind a model that hears, thinks and speaks by itself stand all the parts, or none.
 */
export function fallbacksOf(own: PrimaryVendors, providers: CatalogueProviders): FallbackVendors {
  if (own.model.vendor === OPENAI_REALTIME) {
    const parts = {
      speechToText: spareRecognisers(own, providers),
      languageModel: spareModels(own, providers),
      textToSpeech: spareVoices(own, providers),
    }
    const complete = parts.speechToText.length > 0 && parts.languageModel.length > 0
    return complete ? parts : { speechToText: [], languageModel: [], textToSpeech: [] }
  }
  return {
    speechToText: hosted(own.recognition.vendor) ? spareRecognisers(own, providers) : [],
    languageModel: hosted(own.model.vendor) ? spareModels(own, providers) : [],
    textToSpeech: hosted(own.voice.vendor) ? spareVoices(own, providers) : [],
  }
}

/** A model that hears, thinks and speaks by itself stands in for nobody. */
function hosted(vendor: string): boolean {
  return vendor !== EMBEDDED && vendor !== OPENAI_REALTIME
}

function spareVoices(own: PrimaryVendors, providers: CatalogueProviders): readonly FallbackVoice[] {
  const { voice, pace, languages } = own
  const rows = voices(providers).filter((row) => hosted(row.vendor) && row !== voice && !same(row, voice))
  const useful = rows.filter((row) => languages.some((language) => row.languages.includes(language)))
  const unspoken = languages.filter((language) => !voice.languages.includes(language))
  // First what speaks for the voice where it cannot: one of its own kind.
  const kin = unspoken.flatMap((language) =>
    alike(
      voice,
      useful.filter((row) => row.vendor === voice.vendor && row.languages.includes(language)),
    ),
  )
  const named = providers.fallbacks?.tts
  const others = named
    ? named.flatMap((name) =>
        alike(
          voice,
          useful.filter((row) => isNamed(name, row)),
        ),
      )
    : vendorsOf(useful, voice.vendor).flatMap((vendor) =>
        alike(
          voice,
          useful.filter((row) => row.vendor === vendor),
        ),
      )
  return [...new Set([...kin, ...others])].map((row) => ({
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

/** `model/voice`, or a model alone. */
function isNamed(name: string, row: VoiceEntry): boolean {
  return name === row.ttsModel || name === `${row.ttsModel}/${row.ttsVoice}`
}

/** The first of the rows that sounds most like the voice: its model and gender, its gender, any. */
function alike(voice: VoiceEntry, rows: readonly VoiceEntry[]): readonly VoiceEntry[] {
  const gender = rows.filter((row) => row.gender === voice.gender)
  const best = gender.find((row) => row.ttsModel === voice.ttsModel) ?? gender[0] ?? rows[0]
  return best === undefined ? [] : [best]
}

function vendorsOf(rows: readonly { readonly vendor: string }[], own: string): readonly string[] {
  return [...new Set(rows.map((row) => row.vendor))].filter((vendor) => vendor !== own)
}

function spareRecognisers(own: PrimaryVendors, providers: CatalogueProviders): readonly FallbackRecogniser[] {
  const { recognition, languages, mode } = own
  const rows = recognitionModels(providers).filter(
    (row) =>
      hosted(row.vendor) &&
      row.sttModel !== recognition.sttModel &&
      row.modes.includes(mode) &&
      languages.some((language) => row.languages.includes(language)),
  )
  // The one that knows most of what may be spoken.
  const best = (some: readonly RecognitionEntry[]) => {
    const known = (row: RecognitionEntry) => languages.filter((tag) => row.languages.includes(tag)).length
    const most = Math.max(0, ...some.map(known))
    return some.filter((row) => known(row) === most).slice(0, 1)
  }
  const named = providers.fallbacks?.stt
  // A key may not be enabled for the socket with partial texts: the other one takes every key.
  const beside = recognition.vendor === SARVAM && recognition.sttModel.endsWith('-realtime')
  const kin = rows.filter(({ vendor }) => beside && vendor === SARVAM)
  const chosen = named
    ? named.flatMap((name) => rows.filter((row) => row.sttModel === name))
    : [
        ...best(kin),
        ...vendorsOf(rows, recognition.vendor).flatMap((vendor) =>
          best(rows.filter((row) => row.vendor === vendor)),
        ),
      ]
  return chosen.map((row) => ({ vendor: row.vendor, model: row.sttModel, mode, languages: row.languages }))
}

function spareModels(own: PrimaryVendors, providers: CatalogueProviders): FallbackVendors['languageModel'] {
  const named = providers.fallbacks?.llm
  const rows = languageModels(providers).filter((row) => hosted(row.vendor))
  const chosen = named
    ? named.flatMap((name) => {
        // The endpoint of the first vendor may have models that the catalogue does not name.
        const row = rows.find(({ llmModel, vendor }) => llmModel === name && vendor !== own.model.vendor)
        const found = row ?? findLanguageModel(name, providers)
        if (found) return [chosenModel(found)]
        return providers.openai === null ? [] : [{ vendor: OPENAI, model: name }]
      })
    : vendorsOf(rows, own.model.vendor).flatMap((vendor) =>
        rows
          .filter((row) => row.vendor === vendor)
          .slice(0, 1)
          .map(chosenModel),
      )
  return chosen.filter(({ vendor, model }) => vendor !== own.model.vendor || model !== own.model.llmModel)
}
