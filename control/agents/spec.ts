import type { AgentSpec, ToolAction, ToolSpec } from '../../media/agent/agent-spec.js'
import { languageData } from '../../media/agent/language/language-data.js'
import { businessLine } from '../../media/agent/llm/business-line.js'
import { KNOWLEDGE_TOOL } from '../../media/agent/llm/retrieval.js'
import {
  type CatalogueProviders,
  chosenModel,
  findLanguageModel,
  findRecognitionModel,
  findVoice,
} from '../../media/vendors/catalogue.js'
import { fallbacksOf } from '../../media/vendors/fallbacks.js'
import { INDIAN_NUMBER } from '../compliance/bulk.js'
import type { AgentKnowledge } from '../knowledge/agent-knowledge.js'
import type { AgentConfig } from './config.js'
import { type BuiltInVariable, fillPlaceholders, fillSpoken, type VariableValues } from './placeholders.js'
import { type DestinationName, withTransferTool } from './transfer-tool.js'

const IST_OFFSET_MS = 330 * 60_000
const DAY_MS = 86_400_000
/** 1 January 1970 was a Thursday. */
const WEEKDAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'] as const

export interface SpecInput {
  readonly agentId: string
  readonly agentVersionId: string | null
  readonly name: string
  readonly config: AgentConfig
  readonly direction: 'outbound' | 'inbound'
  readonly from: string
  readonly to: string
  /** Resolved input variables (placeholders.ts). */
  readonly variables: VariableValues
  /** Content of its knowledge bases. Absent means none. */
  readonly knowledge?: Pick<AgentKnowledge, 'inline' | 'searched'>
  /** The transfer destinations of the agent. Absent means none. */
  readonly destinations?: readonly DestinationName[]
  /** The call is recorded, or may be listened to, so that it begins with the notice. Absent means neither. */
  readonly givesNotice?: boolean
  /** Current time for the agent (Unix ms). */
  readonly now: number
}

/**
 * Builds the spec of one agent version: fills placeholders and looks up vendors. Returns null when a model or
 * voice has left the catalogue since the version was published.
 */
export function buildAgentSpec(input: SpecInput, providers: CatalogueProviders): AgentSpec | null {
  const { config, direction } = input
  const { voice, callSettings } = config
  const speech = findVoice(voice.ttsModel, voice.ttsVoice, providers)
  const recognition = findRecognitionModel(voice.sttModel, providers)
  const model = findLanguageModel(config.llmModel, providers)
  if (speech === null || recognition === null || model === null) return null

  const values: VariableValues = { ...builtIns(input), ...input.variables }
  const line = (text: { readonly text: string } | null): string | null => {
    const filled = text === null ? '' : fillSpoken(text.text, values)
    return filled === '' ? null : filled
  }
  const opening =
    direction === 'inbound'
      ? (callSettings.inboundOpeningLine ?? callSettings.openingLine)
      : callSettings.openingLine
  const { openings, phrases } = languageData(voice.languages[0] ?? 'en-IN')
  const { businessName } = callSettings
  const ownOpening =
    businessName === '' ? openings.unnamed : openings.named.replace('{business}', () => businessName)
  // A caller who dialled speaks first when the agent has no line. A callee expects a voice.
  const withoutLine = direction === 'outbound' || opening !== null ? ownOpening : null
  const notice = input.givesNotice === true ? line(callSettings.recordingNotice) : null
  const beginning = [notice, line(opening) ?? withoutLine].filter((text) => text !== null).join(' ')

  return {
    agentId: input.agentId,
    agentVersionId: input.agentVersionId,
    name: input.name,
    systemPrompt: fillPlaceholders(config.systemPrompt, values) + businessLine(callSettings.businessName),
    openingLine: beginning === '' ? null : beginning,
    openingProtected: callSettings.opening.protected,
    turnTaking: callSettings.turnTaking,
    vocabulary: callSettings.vocabulary,
    noiseSuppression: callSettings.noiseSuppression,
    hangupLine: line(callSettings.hangupLine),
    languages: voice.languages,
    speechToText: {
      vendor: recognition.vendor,
      model: voice.sttModel,
      language: voice.sttLanguage,
      mode: voice.sttMode,
      languages: recognition.languages,
    },
    textToSpeech: {
      vendor: speech.vendor,
      model: voice.ttsModel,
      voice: voice.ttsVoice,
      pace: config.ttsOptions.pace,
      gender: speech.gender,
      languages: speech.languages,
    },
    languageModel: chosenModel(model),
    knowledge: input.knowledge?.inline ?? [],
    tools: [
      ...withTransferTool(
        config.tools.flatMap((tool) => toolSpec(tool, values)),
        config,
        input.destinations ?? [],
      ),
      ...knowledgeTool(input),
    ],
    // Other numbers are on no list: Parley does not call them.
    optOut: INDIAN_NUMBER.test(direction === 'inbound' ? input.from : input.to) ? callSettings.optOut : null,
    nudges: {
      enabled: callSettings.nudges.enabled,
      hangupAfter: callSettings.nudges.hangupAfter,
      steps: callSettings.nudges.steps.map((step) => ({
        afterSeconds: step.afterSeconds,
        text: fillSpoken(step.line.text, values) || phrases.stillThere,
      })),
    },
    background: callSettings.background,
    // An inbound caller is taken for a person, so voicemail detection is for outbound calls only.
    voicemail: {
      ...callSettings.voicemail,
      enabled: direction === 'outbound' && callSettings.voicemail.enabled,
      message: line(callSettings.voicemail.message),
    },
    transfer: {
      ...callSettings.transfer,
      preTransferLine: line(callSettings.transfer.preTransferLine),
      afterMissLine: line(callSettings.transfer.afterMissLine),
    },
    maxCallSeconds: callSettings.maxCallSeconds,
    fallbacks: fallbacksOf(
      {
        voice: speech,
        pace: config.ttsOptions.pace,
        languages: voice.languages,
        recognition,
        mode: voice.sttMode,
        model,
      },
      providers,
    ),
  }
}

/** Returns the tool that searches the bases that are too large for the prompt. */
function knowledgeTool({ knowledge }: SpecInput): readonly ToolSpec[] {
  const bases = knowledge?.searched ?? []
  if (bases.length === 0) return []
  const action = { kind: 'knowledge', bases } as const
  return [{ name: KNOWLEDGE_TOOL, description: '', parameters: [], speech: {}, action }]
}

/** Returns nothing for a tool without an action. rules.ts refuses such tools on save. */
function toolSpec(tool: AgentConfig['tools'][number], values: VariableValues): readonly ToolSpec[] {
  const action = actionOf(tool, values)
  if (action === null) return []
  const speech = Object.fromEntries(
    Object.entries(tool.speech).map(([language, text]) => [language, fillSpoken(text, values)]),
  )
  const { name, parameters } = tool
  return [{ name, description: fillPlaceholders(tool.description, values), parameters, speech, action }]
}

/** A mock replaces the tool's action. */
function actionOf(tool: AgentConfig['tools'][number], values: VariableValues): ToolAction | null {
  if (tool.mock?.enabled) return { kind: 'mock', response: fillPlaceholders(tool.mock.response, values) }
  if (tool.preset !== null) return { kind: tool.preset }
  if (tool.http === null) return null
  return { kind: 'http', request: { ...tool.http, connectionId: tool.connectionId } }
}

function builtIns(input: SpecInput): Readonly<Record<BuiltInVariable, string>> {
  const inbound = input.direction === 'inbound'
  const ist = new Date(input.now + IST_OFFSET_MS).toISOString()
  return {
    agentName: input.name,
    businessName: input.config.callSettings.businessName,
    callerNumber: inbound ? input.from : input.to,
    calledNumber: inbound ? input.to : input.from,
    direction: input.direction,
    currentDate: ist.slice(0, 10),
    currentDay: WEEKDAYS[(Math.floor((input.now + IST_OFFSET_MS) / DAY_MS) + 4) % 7] ?? '',
    currentTime: ist.slice(11, 16),
  }
}
