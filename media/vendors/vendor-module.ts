import type { RecognitionMode } from '../agent/agent-spec.js'
import type { LearntManners } from '../agent/learnt-manners.js'
import type { LanguageModel, SpeechToSpeech, SpeechToText, TextToSpeech } from '../agent/vendor-ports.js'
import type { Clock } from '../base/clock.js'
import type { Log } from '../base/log.js'
import type { SynthesisPort } from './espeak/synthesis-port.js'
import type { VendorConnections } from './shared/vendor-connections.js'

/**
 * Everything the service knows of one vendor. To add a vendor, write a folder with such a value in its
 * `module.ts`, its models in `catalogue/`, and a line in `registry.ts`.
 */
export interface VendorModule<Id extends string = string, Settings extends object = object> {
  /** Name of the vendor's settings in the provider settings. */
  readonly id: Id
  /** Environment variables, in the order of `parley --help`. */
  readonly variables: readonly Variable[]
  /** Variables of which one must be set to enable the vendor; empty for a vendor that is always enabled. */
  readonly requires: readonly string[]
  /** Reads the settings of an enabled vendor. Absent when the operator sets them in another way. */
  readSettings?(reader: SettingsReader): Settings
  /** Returns the vendor's part of the model and voice catalogue. */
  catalogue(): CatalogueData
  /** Returns the models and voices that the settings name. Absent when they name none. */
  offers?(settings: Settings): readonly Offer[]
  /** Opens the adapters, by vendor id. */
  open(settings: Settings, deps: VendorDeps): Readonly<Record<string, Vendor>>
}

export interface Variable {
  readonly name: string
  /** Default as an operator reads it; empty when there is none. */
  readonly default: string
  readonly description: string
  /** The value is never printed. */
  readonly secret?: true
}

/** Models that an adapter cannot use, and the reason, which operators read. */
export interface UnservedModels {
  readonly pattern: RegExp
  readonly why: string
}

/**
 * Reads environment variables of a vendor. Every method but `given` uses the variable's default when it is
 * unset and `otherwise` is absent; an invalid value is reported to the operator and stops the start.
 */
export interface SettingsReader {
  /** Returns the value, or null when the variable is unset. */
  given(name: string): string | null
  text(name: string): string
  httpUrl(name: string, otherwise?: string): string
  socketUrl(name: string): string
  /**
   * Reads the JSON object in the file that the variable names, as `parse` understands it. When it is null or there is no
   * such file, the operator is told to name `wanted`.
   */
  jsonFile<T>(
    name: string,
    parse: (contents: Readonly<Record<string, unknown>>) => T | null,
    wanted: string,
  ): T | null
  /** Reads a JSON object. */
  jsonObject(name: string): Readonly<Record<string, unknown>>
  choice<const T extends string>(name: string, ...values: readonly T[]): T
  integer(name: string, min: number, max: number): number
  /** Reads comma-separated model names, or `none`. Names of `unserved` models are invalid. */
  modelNames(name: string, otherwise?: string, unserved?: UnservedModels): readonly string[]
  /** Reads comma-separated `name=voice-id` pairs; empty when the variable is unset. */
  voices(name: string): readonly { readonly name: string; readonly id: string }[]
}

export interface VendorDeps {
  readonly clock: Clock
  readonly log: Log
  readonly synthesis: SynthesisPort
  /** Connections that last between the turns of a call. Absent: Node's own. */
  readonly connections?: VendorConnections | undefined
  /** How requests for each model have to look. Absent: the adapter learns it for itself. */
  readonly manners?: LearntManners | undefined
  /** Contents of the operator's catalogue file. */
  readonly catalogue?: CatalogueData | null
}

/** The adapters of one vendor id. */
export interface Vendor {
  readonly speechToText?: SpeechToText
  readonly textToSpeech?: TextToSpeech
  readonly languageModel?: LanguageModel
  readonly speechToSpeech?: SpeechToSpeech
}

export type ModelKind = 'recognitionModels' | 'languageModels' | 'speechModels'

/**
 * Models and voices that the settings of a vendor name, besides those of its catalogue. Null stands for a
 * vendor that has no models of the kind.
 */
export interface Offer {
  readonly vendor: string
  readonly recognitionModels?: readonly string[] | null
  readonly languageModels?: readonly string[] | null
  /** Context window of these language models in tokens; null or absent: as the catalogue says. */
  readonly windowTokens?: number | null
  readonly speechModels?: readonly string[] | null
  /** Host name of the endpoint of each kind, for retirements that concern one host. */
  readonly hosts?: Partial<Readonly<Record<ModelKind, string>>>
  /** Voices of every speech model. */
  readonly voices?: readonly string[]
}

/** Models and voices by vendor id. Plain JSON: the files in `catalogue/`, and the operator's file. */
export type CatalogueData = Readonly<Record<string, VendorCatalogue>>

export interface VendorCatalogue {
  readonly recognitionModels?: readonly RecognitionData[]
  readonly languageModels?: readonly LanguageModelData[]
  readonly speechModels?: readonly SpeechModelData[]
  /** Models that the vendor will switch off, or has switched off. */
  readonly retirements?: readonly RetirementData[]
}

export interface RetirementData {
  readonly kind: ModelKind
  /** Regular expression for the names of the models. */
  readonly pattern: string
  /** Date (YYYY-MM-DD) from which the models do not answer. */
  readonly retiresOn: string
  /** Model that the vendor recommends instead. */
  readonly successor?: string
  /** Host whose models retire; other servers may keep models of the same name. */
  readonly host: string
  readonly checkedOn: string
}

/** A model, or with `pattern` (a regular expression) a family of models that are not listed. */
interface ModelData {
  readonly model?: string
  readonly pattern?: string
  readonly label?: string
  /** Date (YYYY-MM-DD) on which the entry was compared with the vendor's documentation. */
  readonly checkedOn: string
}

export interface RecognitionData extends ModelData {
  readonly languages: readonly string[]
  /** Values of `voice.sttMode`. */
  readonly modes: readonly RecognitionMode[]
  /** Another model of the vendor to fall back to first: one that every API key can use. */
  readonly fallback?: string
}

export interface LanguageModelData extends ModelData {
  /** Context window in tokens. */
  readonly windowTokens?: number
}

export interface SpeechModelData extends ModelData {
  readonly languages: readonly string[]
  readonly paceMin: number
  readonly paceMax: number
  /** Voices of the model; absent when only the settings name them. */
  readonly voices?: readonly { readonly name: string; readonly gender?: Gender }[]
  /** Regular expression for the names of further voices, which the entry does not list. */
  readonly voicePattern?: string
  /** The STT models that fit: only the model of the same name, for speech-to-speech. */
  readonly sttOfSameName?: true
}

export type Gender = 'female' | 'male' | 'neutral'
