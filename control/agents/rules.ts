import {
  type CatalogueProviders,
  findLanguageModel,
  findRecognitionModel,
  findVoice,
  voices,
} from '../../media/agent/vendors/catalogue.js'
import type { AgentConfig } from './config.js'

/** A field that contradicts another field, the catalogue, or what this release can do. */
export interface ConfigProblem {
  readonly path: string
  readonly message: string
}

/** The first two entries of a list that share a name: an ambiguous configuration. */
export function duplicateName(config: AgentConfig): ConfigProblem | null {
  const lists = [
    ['inputVariables', config.inputVariables.map((variable) => variable.name), 'name'],
    ['outputVariables', config.outputVariables.map((variable) => variable.name), 'name'],
    ['evaluationCriteria', config.evaluationCriteria.map((criterion) => criterion.id), 'id'],
    ['tools', config.tools.map((tool) => tool.name), 'name'],
    ...config.tools.map(
      (tool, index) =>
        [`tools[${index}].parameters`, tool.parameters.map((parameter) => parameter.name), 'name'] as const,
    ),
  ] as const
  for (const [list, names, field] of lists) {
    const index = names.findIndex((name, at) => names.indexOf(name) !== at)
    if (index >= 0) return { path: `${list}[${index}].${field}`, message: 'used twice' }
  }
  const enumAt = config.outputVariables.findIndex((v) => v.type === 'enum' && v.enumValues.length === 0)
  if (enumAt >= 0) return { path: `outputVariables[${enumAt}].enumValues`, message: 'required for type enum' }
  return null
}

/** What the voice and model catalogue says against a configuration. */
export function catalogueProblem(config: AgentConfig, providers: CatalogueProviders): ConfigProblem | null {
  const { voice, ttsOptions } = config
  if (findLanguageModel(config.llmModel, providers) === null) {
    return { path: 'llmModel', message: 'There is no such language model.' }
  }
  const row = findVoice(voice.ttsModel, voice.ttsVoice, providers)
  if (row === null) {
    const modelExists = voices(providers).some((entry) => entry.ttsModel === voice.ttsModel)
    return modelExists
      ? { path: 'voice.ttsVoice', message: `The speech model ${voice.ttsModel} has no such voice.` }
      : { path: 'voice.ttsModel', message: 'There is no such speech model.' }
  }
  const recognition = findRecognitionModel(voice.sttModel, providers)
  if (recognition === null || !row.sttModels.includes(voice.sttModel)) {
    return { path: 'voice.sttModel', message: 'There is no such recognition model for this voice.' }
  }
  if (!recognition.languages.includes(voice.sttLanguage)) {
    return { path: 'voice.sttLanguage', message: 'The recognition model does not know this language.' }
  }
  const foreign = voice.languages.findIndex((language) => !row.languages.includes(language))
  if (foreign >= 0) {
    return { path: `voice.languages[${foreign}]`, message: 'The voice does not speak this language.' }
  }
  if (ttsOptions.pace < row.paceMin || ttsOptions.pace > row.paceMax) {
    return { path: 'ttsOptions.pace', message: `This voice speaks at ${row.paceMin} to ${row.paceMax}.` }
  }
  return null
}

/** The first tool whose parts contradict each other or lack what they need. */
export function toolProblem(config: AgentConfig): ConfigProblem | null {
  for (const [index, tool] of config.tools.entries()) {
    const at = `tools[${index}]`
    if (tool.http !== null && tool.preset !== null) {
      return { path: `${at}.http`, message: 'A tool is a preset or an HTTP request, not both.' }
    }
    if (tool.connectionId !== null && tool.http === null) {
      return { path: `${at}.connectionId`, message: 'A connection needs the HTTP request that uses it.' }
    }
    const auth = tool.http?.auth ?? null
    if (auth === null) continue
    // With a connection, its secret is sent.
    if (auth.type !== 'none' && auth.secretId === null && tool.connectionId === null) {
      return { path: `${at}.http.auth.secretId`, message: `Authentication by ${auth.type} needs a secret.` }
    }
    if (auth.type === 'api_key' && auth.name === null) {
      return { path: `${at}.http.auth.name`, message: 'An API key needs the name it is sent under.' }
    }
  }
  return null
}

/**
 * What the service cannot do yet. Refused at save, so that no agent silently lacks a part of what
 * its configuration promises. Each later feature removes its own line.
 */
export function unsupported(config: AgentConfig): ConfigProblem | null {
  const no = (path: string, what: string): ConfigProblem => ({
    path,
    message: `${what} not available in this release.`,
  })
  const { callSettings, voice, tools } = config
  if (config.knowledgeBaseIds.length > 0) return no('knowledgeBaseIds', 'Knowledge bases are')
  if (voice.sttMode !== 'transcribe')
    return no('voice.sttMode', 'Recognition modes other than transcribe are')
  if (callSettings.background.sound !== 'none') {
    return no('callSettings.background.sound', 'Background sounds are')
  }
  const { transfer } = callSettings
  if (transfer.destinations.length > 0) return no('callSettings.transfer.destinations', 'Transfers are')
  if (transfer.defaultDestinationId !== null) {
    return no('callSettings.transfer.defaultDestinationId', 'Transfers are')
  }
  if (transfer.dtmfKey !== null) return no('callSettings.transfer.dtmfKey', 'Transfers are')
  for (const [index, tool] of tools.entries()) {
    if (tool.preset !== null && tool.preset !== 'end_call') {
      return no(`tools[${index}].preset`, 'Presets other than end_call are')
    }
    if (tool.http !== null && tool.mock?.enabled !== true) {
      return no(`tools[${index}].http`, 'HTTP tools without an enabled mock are')
    }
    if (tool.preset === null && tool.mock?.enabled !== true) {
      return {
        path: `tools[${index}]`,
        message: 'The tool does nothing: it needs a preset or an enabled mock.',
      }
    }
  }
  return null
}
