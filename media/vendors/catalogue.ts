import type { ChosenModel, RecognitionMode } from '../agent/agent-spec.js'
import { type FallbackNames, VENDOR_MODULES } from './registry.js'
import { mayHaveVoice } from './shared/catalogue-file.js'
import { EMBEDDED_SPEECH_MODEL } from './vendor-ids.js'
import type {
  CatalogueData,
  Gender,
  LanguageModelData,
  ModelKind,
  Offer,
  RecognitionData,
  SpeechModelData,
  VendorModule,
} from './vendor-module.js'

export type { FallbackNames } from './registry.js'
export * from './vendor-ids.js'

/*
 * The models and voices an agent can be configured with, and the vendor id behind each. They come from the
 * files in `catalogue/`, the operator's catalogue file and the names in the settings. A name that none
 * of them lists is accepted when it matches a pattern of a configured vendor; its entry is `unlisted`.
 */

/** The settings that the catalogue depends on; `ProviderSettings` fits. */
export interface CatalogueProviders {
  readonly [module: string]: unknown
  readonly fallbacks?: FallbackNames | null
  readonly catalogue?: CatalogueData | null
  /** False when the optional package of the embedded voices is not installed. */
  readonly embeddedVoices?: boolean
}

interface Entry {
  readonly vendor: string
  /** Matched by a pattern only: neither a catalogue nor the settings name the model or the voice. */
  readonly unlisted?: true
}

export interface VoiceEntry extends Entry {
  readonly ttsModel: string
  readonly ttsVoice: string
  readonly gender: Gender
  readonly languages: readonly string[]
  /** STT models that can be combined with the voice. */
  readonly sttModels: readonly string[]
  readonly paceMin: number
  readonly paceMax: number
}

export interface LanguageModelEntry extends Entry {
  readonly llmModel: string
  readonly label: string
  /** Context window in tokens (prompt and reply together), where it is known. */
  readonly windowTokens?: number
}

export interface RecognitionEntry extends Entry {
  readonly sttModel: string
  readonly label: string
  readonly languages: readonly string[]
  /** Supported values of `voice.sttMode`. */
  readonly modes: readonly RecognitionMode[]
  /** Another model of the vendor to fall back to first. */
  readonly fallback?: string
}

type Modules = readonly VendorModule[]

/** Returns the settings of a module, or null when it is not configured. */
export function settingsOf(module: VendorModule, providers: CatalogueProviders): object | null {
  if (module.requires.length === 0 && module.readSettings !== undefined) return {}
  const settings = providers[module.id]
  return typeof settings === 'object' ? settings : null
}

/** The data of one kind of model with everything that a configured vendor id offers of it. */
interface Shelf<Data> {
  readonly vendor: string
  readonly data: readonly Data[]
  readonly names: readonly string[]
  readonly offer: Offer
}

const NAMES = {
  recognitionModels: (offer: Offer) => offer.recognitionModels,
  languageModels: (offer: Offer) => offer.languageModels,
  speechModels: (offer: Offer) => offer.speechModels,
} as const

function shelves<Data extends { readonly model?: string }>(
  kind: ModelKind,
  providers: CatalogueProviders,
  modules: Modules,
): Shelf<Data>[] {
  return modules.flatMap((module) => {
    const settings = settingsOf(module, providers)
    if (settings === null) return []
    const offers = module.offers?.(settings) ?? [{ vendor: module.id }]
    return offers
      .filter((offer) => NAMES[kind](offer) !== null)
      .map((offer): Shelf<Data> => {
        const own = (module.catalogue()[offer.vendor]?.[kind] ?? []) as unknown as readonly Data[]
        const operator = (providers.catalogue?.[offer.vendor]?.[kind] ?? []) as unknown as readonly Data[]
        const replaced = new Set(operator.map(({ model }) => model).filter((model) => model !== undefined))
        // The operator's entries come first, so that their patterns win.
        const data = [...operator, ...own.filter(({ model }) => model === undefined || !replaced.has(model))]
        const listed = [...own, ...operator].flatMap(({ model }) => model ?? [])
        return {
          vendor: offer.vendor,
          data,
          names: [...new Set([...(NAMES[kind](offer) ?? []), ...listed])],
          offer,
        }
      })
  })
}

const ANY = '.*'

/** Returns the entry of a model: by its name, else by the first pattern that it matches. */
function entryOf<Data extends { readonly model?: string; readonly pattern?: string }>(
  data: readonly Data[],
  name: string,
): Data | undefined {
  return (
    data.find(({ model }) => model === name) ??
    data.find(({ pattern }) => pattern !== undefined && new RegExp(pattern).test(name))
  )
}

/**
 * Finds a vendor for a name that nothing lists. A catch-all pattern counts only when no vendor has a more
 * specific one.
 */
function unlisted<Data extends { readonly model?: string; readonly pattern?: string }>(
  found: readonly Shelf<Data>[],
  name: string,
): { readonly shelf: Shelf<Data>; readonly entry: Data } | null {
  const matches = found.flatMap((shelf) => {
    const entry = entryOf(shelf.data, name)
    return entry === undefined ? [] : [{ shelf, entry }]
  })
  return matches.find(({ entry }) => entry.pattern !== ANY) ?? matches[0] ?? null
}

function recognitionEntry(vendor: string, sttModel: string, data: RecognitionData): RecognitionEntry {
  const { label = sttModel, languages, modes, fallback } = data
  return {
    vendor,
    sttModel,
    label: label.replace('{model}', sttModel),
    languages,
    modes,
    ...(fallback === undefined ? {} : { fallback }),
  }
}

/** Returns the listed STT models of the configured vendors. */
export function recognitionModels(
  providers: CatalogueProviders,
  modules: Modules = VENDOR_MODULES,
): readonly RecognitionEntry[] {
  return shelves<RecognitionData>('recognitionModels', providers, modules).flatMap(
    ({ vendor, data, names }) =>
      names.flatMap((name) => {
        const entry = entryOf(data, name)
        return entry === undefined ? [] : [recognitionEntry(vendor, name, entry)]
      }),
  )
}

function languageModelEntry(
  { vendor, offer }: Pick<Shelf<LanguageModelData>, 'vendor' | 'offer'>,
  llmModel: string,
  { label = llmModel, windowTokens }: LanguageModelData,
): LanguageModelEntry {
  const configured = offer.languageModels?.includes(llmModel) ? offer.windowTokens : null
  const tokens = configured ?? windowTokens
  return { vendor, llmModel, label, ...(tokens === undefined ? {} : { windowTokens: tokens }) }
}

/** Returns the listed language models of the configured vendors. */
export function languageModels(
  providers: CatalogueProviders,
  modules: Modules = VENDOR_MODULES,
): readonly LanguageModelEntry[] {
  return shelves<LanguageModelData>('languageModels', providers, modules).flatMap((shelf) =>
    shelf.names.flatMap((name) => {
      const entry = entryOf(shelf.data, name)
      return entry === undefined ? [] : [languageModelEntry(shelf, name, entry)]
    }),
  )
}

/** Returns whether the speech model is the embedded one and its optional package is not installed. */
export function isMissing(ttsModel: string, { embeddedVoices }: CatalogueProviders): boolean {
  return ttsModel === EMBEDDED_SPEECH_MODEL && embeddedVoices === false
}

/** Returns the listed voices of the configured vendors. */
export function voices(
  providers: CatalogueProviders,
  modules: Modules = VENDOR_MODULES,
): readonly VoiceEntry[] {
  const stt = pipelineModels(providers, modules)
  return shelves<SpeechModelData>('speechModels', providers, modules).flatMap(
    ({ vendor, data, names, offer }) =>
      names.flatMap((name) => {
        if (isMissing(name, providers)) return []
        const entry = entryOf(data, name)
        if (entry === undefined) return []
        const known = new Map((entry.voices ?? []).map((voice) => [voice.name, voice.gender ?? 'neutral']))
        const all = new Set([...(offer.voices ?? []), ...known.keys()])
        return [...all].map((voice) => voiceEntry(vendor, name, voice, known.get(voice), entry, stt))
      }),
  )
}

function voiceEntry(
  vendor: string,
  ttsModel: string,
  ttsVoice: string,
  gender: Gender = 'neutral',
  { languages, paceMin, paceMax, sttOfSameName }: SpeechModelData,
  stt: readonly string[],
): VoiceEntry {
  const sttModels = sttOfSameName ? [ttsModel] : stt
  return { vendor, ttsModel, ttsVoice, gender, languages, sttModels, paceMin, paceMax }
}

/** Returns the STT models that can be combined with any voice: not those of speech-to-speech models. */
function pipelineModels(providers: CatalogueProviders, modules: Modules): readonly string[] {
  const speechToSpeech = new Set(
    shelves<SpeechModelData>('speechModels', providers, modules)
      .filter(({ data }) => data.some(({ sttOfSameName }) => sttOfSameName))
      .map(({ vendor }) => vendor),
  )
  return recognitionModels(providers, modules)
    .filter(({ vendor }) => !speechToSpeech.has(vendor))
    .map(({ sttModel }) => sttModel)
}

/**
 * Finds a voice by model and name. A listed model has its listed voices and those of its `voicePattern`; a model that
 * nothing lists may have any voice. Returns null when no configured vendor has such a voice.
 */
export function findVoice(
  ttsModel: string,
  ttsVoice: string,
  providers: CatalogueProviders,
  modules: Modules = VENDOR_MODULES,
): VoiceEntry | null {
  const rows = voices(providers, modules).filter((row) => row.ttsModel === ttsModel)
  const listed = rows.find((row) => row.ttsVoice === ttsVoice)
  if (listed !== undefined) return listed
  if (isMissing(ttsModel, providers)) return null
  const found = unlisted(shelves<SpeechModelData>('speechModels', providers, modules), ttsModel)
  if (found === null || (rows.length > 0 && !mayHaveVoice(found.entry, ttsVoice))) return null
  const stt = pipelineModels(providers, modules)
  return {
    ...voiceEntry(found.shelf.vendor, ttsModel, ttsVoice, 'neutral', found.entry, stt),
    unlisted: true,
  }
}

/** Finds a language model by name, or returns null when no configured vendor has it. */
export function findLanguageModel(
  llmModel: string,
  providers: CatalogueProviders,
  modules: Modules = VENDOR_MODULES,
): LanguageModelEntry | null {
  const listed = languageModels(providers, modules).find((entry) => entry.llmModel === llmModel)
  if (listed !== undefined) return listed
  const found = unlisted(shelves<LanguageModelData>('languageModels', providers, modules), llmModel)
  return found === null ? null : { ...languageModelEntry(found.shelf, llmModel, found.entry), unlisted: true }
}

/** Finds an STT model by name, or returns null when no configured vendor has it. */
export function findRecognitionModel(
  sttModel: string,
  providers: CatalogueProviders,
  modules: Modules = VENDOR_MODULES,
): RecognitionEntry | null {
  const listed = recognitionModels(providers, modules).find((entry) => entry.sttModel === sttModel)
  if (listed !== undefined) return listed
  const found = unlisted(shelves<RecognitionData>('recognitionModels', providers, modules), sttModel)
  return found === null
    ? null
    : { ...recognitionEntry(found.shelf.vendor, sttModel, found.entry), unlisted: true }
}

/** Returns the model as a conversation refers to it. */
export function chosenModel({ vendor, llmModel, windowTokens }: LanguageModelEntry): ChosenModel {
  return { vendor, model: llmModel, ...(windowTokens === undefined ? {} : { windowTokens }) }
}

/** A model that its vendor switches off on a date (YYYY-MM-DD). */
export interface Retirement {
  readonly model: string
  readonly retiresOn: string
  readonly successor?: string
}

/** Returns when the vendor switches the model off, or null when no date is known. */
export function retirementOf(
  kind: ModelKind,
  vendor: string,
  model: string,
  providers: CatalogueProviders,
  modules: Modules = VENDOR_MODULES,
): Retirement | null {
  for (const module of modules) {
    const settings = settingsOf(module, providers)
    if (settings === null) continue
    const offer = module.offers?.(settings).find((candidate) => candidate.vendor === vendor)
    const host = offer?.hosts?.[kind]
    const data = [
      ...(providers.catalogue?.[vendor]?.retirements ?? []),
      ...(module.catalogue()[vendor]?.retirements ?? []),
    ]
    const found = data.find(
      (row) => row.kind === kind && row.host === host && new RegExp(row.pattern).test(model),
    )
    if (found !== undefined) {
      const { retiresOn, successor } = found
      return { model, retiresOn, ...(successor === undefined ? {} : { successor }) }
    }
  }
  return null
}

/** Returns the retirements of the models that the settings and the catalogue list, the earliest first. */
export function retirements(
  providers: CatalogueProviders,
  modules: Modules = VENDOR_MODULES,
): readonly Retirement[] {
  const found = (Object.keys(NAMES) as ModelKind[]).flatMap((kind) =>
    shelves<{ readonly model?: string }>(kind, providers, modules).flatMap(({ vendor, names }) =>
      names.flatMap((name) => retirementOf(kind, vendor, name, providers, modules) ?? []),
    ),
  )
  return found.sort((a, b) => (a.retiresOn < b.retiresOn ? -1 : 1))
}
