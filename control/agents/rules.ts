import {
  type CatalogueProviders,
  findLanguageModel,
  findRecognitionModel,
  findVoice,
  isMissing,
  isSpeechToSpeech,
  type RecognitionEntry,
  type VoiceEntry,
  voices,
} from '../../media/vendors/catalogue.js'
import { ESPEAK_PACKAGE } from '../../media/vendors/espeak/installed.js'
import { credentialHeaders, headerNameProblem } from '../tools/credential-names.js'
import type { AgentConfig } from './config.js'

/** A field that contradicts another field or the catalogue. */
export interface ConfigProblem {
  readonly path: string
  readonly message: string
}

/** Returns the first list entry that repeats an earlier one. */
export function duplicateName(config: AgentConfig): ConfigProblem | null {
  const lists = [
    ['inputVariables', config.inputVariables.map((variable) => variable.name), 'name'],
    ['outputVariables', config.outputVariables.map((variable) => variable.name), 'name'],
    ['evaluationCriteria', config.evaluationCriteria.map((criterion) => criterion.id), 'id'],
    ['tools', config.tools.map((tool) => tool.name), 'name'],
    [
      'callSettings.transfer.destinations',
      config.callSettings.transfer.destinations.map((row) => row.destinationId),
      'destinationId',
    ],
    ...config.tools.map(
      (tool, index) =>
        [`tools[${index}].parameters`, tool.parameters.map((parameter) => parameter.name), 'name'] as const,
    ),
  ] as const
  for (const [list, names, field] of lists) {
    const index = names.findIndex((name, at) => names.indexOf(name) !== at)
    if (index >= 0) return { path: `${list}[${index}].${field}`, message: 'used twice' }
  }
  const base = config.knowledgeBaseIds.findIndex((id, at, ids) => ids.indexOf(id) !== at)
  if (base >= 0) return { path: `knowledgeBaseIds[${base}]`, message: 'used twice' }
  const enumAt = config.outputVariables.findIndex((v) => v.type === 'enum' && v.enumValues.length === 0)
  if (enumAt >= 0) return { path: `outputVariables[${enumAt}].enumValues`, message: 'required for type enum' }
  return null
}

/** Returns the first name that JSON cannot carry as a field: request bodies with it are refused. */
export function reservedName(config: AgentConfig): ConfigProblem | null {
  const lists = [
    ['inputVariables', config.inputVariables],
    ['outputVariables', config.outputVariables],
    ...config.tools.map((tool, index) => [`tools[${index}].parameters`, tool.parameters] as const),
  ] as const
  for (const [list, entries] of lists) {
    const index = entries.findIndex(({ name }) => name === '__proto__')
    if (index >= 0) return { path: `${list}[${index}].name`, message: 'is a reserved name' }
  }
  return null
}

/** Returns the first header of a tool that customers may not set. */
export function headerProblem({ tools }: AgentConfig): ConfigProblem | null {
  for (const [index, { http }] of tools.entries()) {
    if (http === null) continue
    const at = `tools[${index}].http`
    const headers = [
      ...Object.keys(http.headers).map((name) => ({ path: `${at}.headers.${name}`, name })),
      ...credentialHeaders(http.auth).map(({ field, name }) => ({ path: `${at}.auth.${field}`, name })),
    ]
    for (const { path, name } of headers) {
      const message = headerNameProblem(name)
      if (message !== null) return { path, message }
    }
  }
  return null
}

/** Returns the first contradiction between a configuration and the catalogue of voices and models. */
export function catalogueProblem(config: AgentConfig, providers: CatalogueProviders): ConfigProblem | null {
  const { voice, ttsOptions } = config
  const model = findLanguageModel(config.llmModel, providers)
  if (model === null)
    return { path: 'llmModel', message: 'The language model does not exist. Use one of GET /v1/models.' }
  if (isMissing(voice.ttsModel, providers)) {
    const message = `The voices of ${voice.ttsModel} need an optional package: npm install ${ESPEAK_PACKAGE}.`
    return { path: 'voice.ttsModel', message }
  }
  const row = findVoice(voice.ttsModel, voice.ttsVoice, providers)
  if (row === null) {
    const modelExists = voices(providers).some((entry) => entry.ttsModel === voice.ttsModel)
    return modelExists
      ? {
          path: 'voice.ttsVoice',
          message: `The speech model ${voice.ttsModel} does not have this voice. Use one of GET /v1/voices.`,
        }
      : { path: 'voice.ttsModel', message: 'The speech model does not exist. Use one of GET /v1/voices.' }
  }
  // A speech-to-speech model is recogniser, language model and voice in one.
  const whole = isSpeechToSpeech(model.vendor)
  if (whole !== isSpeechToSpeech(row.vendor) || (whole && row.ttsModel !== config.llmModel)) {
    const needed = whole ? config.llmModel : 'of another vendor'
    return { path: 'voice.ttsModel', message: `This language model needs the speech model ${needed}.` }
  }
  const recognition = findRecognitionModel(voice.sttModel, providers)
  if (recognition === null || !canCombine(row, recognition)) {
    return {
      path: 'voice.sttModel',
      message: 'The recognition model does not exist or does not fit the voice. Use one of GET /v1/voices.',
    }
  }
  if (!recognition.languages.includes(voice.sttLanguage)) {
    return { path: 'voice.sttLanguage', message: 'The recognition model does not support this language.' }
  }
  if (!recognition.modes.includes(voice.sttMode)) {
    return { path: 'voice.sttMode', message: 'The recognition model does not have this mode.' }
  }
  const foreign = voice.languages.findIndex((language) => !row.languages.includes(language))
  if (foreign >= 0) {
    return { path: `voice.languages[${foreign}]`, message: 'The voice does not support this language.' }
  }
  if (!voice.languages.includes(voice.sttLanguage)) {
    const message = 'The recognition language must be one of the languages of the agent (voice.languages).'
    return { path: 'voice.sttLanguage', message }
  }
  if (ttsOptions.pace < row.paceMin || ttsOptions.pace > row.paceMax) {
    return { path: 'ttsOptions.pace', message: `The pace of this voice is ${row.paceMin} to ${row.paceMax}.` }
  }
  return null
}

function canCombine(voice: VoiceEntry, recognition: RecognitionEntry): boolean {
  if (voice.sttModels.includes(recognition.sttModel)) return true
  // Lists hold listed models only; a speech-to-speech model combines with nothing but itself.
  return recognition.unlisted === true && ![voice.vendor, recognition.vendor].some(isSpeechToSpeech)
}

/** Returns the fields whose model or voice is accepted although neither a catalogue nor a setting lists it. */
export function unlistedModels(
  { llmModel, voice }: AgentConfig,
  providers: CatalogueProviders,
): readonly { readonly path: string; readonly model: string }[] {
  const modelListed = voices(providers).some((row) => row.ttsModel === voice.ttsModel)
  const fields = [
    { path: 'llmModel', model: llmModel, entry: findLanguageModel(llmModel, providers) },
    { path: 'voice.sttModel', model: voice.sttModel, entry: findRecognitionModel(voice.sttModel, providers) },
    {
      path: modelListed ? 'voice.ttsVoice' : 'voice.ttsModel',
      model: voice.ttsModel,
      entry: findVoice(voice.ttsModel, voice.ttsVoice, providers),
    },
  ]
  return fields.filter(({ entry }) => entry?.unlisted).map(({ path, model }) => ({ path, model }))
}

/** Returns the first contradiction in the transfer settings. */
export function transferProblem({ callSettings: { transfer } }: AgentConfig): ConfigProblem | null {
  const at = 'callSettings.transfer'
  const offered = new Set(transfer.destinations.map(({ destinationId }) => destinationId))
  if (transfer.defaultDestinationId !== null && !offered.has(transfer.defaultDestinationId)) {
    return {
      path: `${at}.defaultDestinationId`,
      message: 'The default destination must be one of the destinations.',
    }
  }
  const own = transfer.destinations.findIndex((row) => row.fallbackDestinationId === row.destinationId)
  if (own < 0) return null
  return {
    path: `${at}.destinations[${own}].fallbackDestinationId`,
    message: 'A destination cannot be its own fallback.',
  }
}

/** Returns the first tool whose fields contradict each other or are incomplete. */
export function toolProblem(config: AgentConfig): ConfigProblem | null {
  for (const [index, tool] of config.tools.entries()) {
    const at = `tools[${index}]`
    if (tool.http !== null && tool.preset !== null) {
      return { path: `${at}.http`, message: 'A tool is a preset or an HTTP request, not both.' }
    }
    if (tool.http === null && tool.preset === null && tool.mock?.enabled !== true) {
      const message = 'The tool has no action: it needs a preset, an HTTP request or an enabled mock.'
      return { path: at, message }
    }
    if (tool.connectionId !== null && tool.http === null) {
      return { path: `${at}.connectionId`, message: 'A connection requires an HTTP request.' }
    }
    const auth = tool.http?.auth ?? null
    if (auth === null) continue
    // With a connection, the connection's secret is sent.
    if (auth.type !== 'none' && auth.secretId === null && tool.connectionId === null) {
      return {
        path: `${at}.http.auth.secretId`,
        message: `Authentication of type ${auth.type} needs a secret. Set secretId.`,
      }
    }
    if (auth.type === 'api_key' && (auth.name ?? '') === '') {
      return {
        path: `${at}.http.auth.name`,
        message: 'API key authentication needs the name of its header or parameter.',
      }
    }
  }
  return null
}
