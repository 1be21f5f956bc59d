import { SentenceSplitter } from '../../media/agent/language/sentence-splitter.js'
import type { AgentConfig } from './config.js'

const PLACEHOLDER = /\{\{\s*([a-zA-Z_][a-zA-Z0-9_]{0,49})\s*\}\}/g

/**
 * Variables that every call has without a declaration (docs/agents.md). A declared input variable of the same
 * name takes precedence.
 */
export const BUILT_IN_VARIABLES = [
  'agentName',
  'businessName',
  'callerNumber',
  'calledNumber',
  'direction',
  'currentDate',
  'currentDay',
  'currentTime',
] as const
export type BuiltInVariable = (typeof BUILT_IN_VARIABLES)[number]

export type VariableValues = Readonly<Record<string, string>>

/** Replaces every placeholder. A placeholder without a value becomes the empty text. */
export function fillPlaceholders(text: string, values: VariableValues): string {
  return text.replace(PLACEHOLDER, (_whole, name: string) =>
    Object.hasOwn(values, name) ? (values[name] ?? '') : '',
  )
}

/**
 * Fills the placeholders of a text that is spoken. A sentence with a placeholder that has no value is left
 * out, so the agent never says half a sentence.
 */
export function fillSpoken(text: string, values: VariableValues): string {
  const unset = (part: string): boolean =>
    [...part.matchAll(PLACEHOLDER)].some(
      ([placeholder]) => fillPlaceholders(placeholder, values).trim() === '',
    )
  if (!unset(text)) return fillPlaceholders(text, values).trim()
  const whole = Number.POSITIVE_INFINITY
  const splitter = new SentenceSplitter({ minLength: 0, maxLength: whole, firstMaxLength: whole })
  const sentences = [...splitter.push(text), ...splitter.end()]
  return sentences
    .filter((sentence) => !unset(sentence))
    .map((sentence) => fillPlaceholders(sentence, values))
    .join(' ')
}

/** Returns every text of an agent that may hold placeholders, with its path in the configuration. */
function texts(config: AgentConfig): readonly (readonly [path: string, text: string])[] {
  const { callSettings, tools } = config
  const found: (readonly [string, string])[] = [['systemPrompt', config.systemPrompt]]
  for (const key of ['recordingNotice', 'openingLine', 'inboundOpeningLine', 'hangupLine'] as const) {
    found.push([`callSettings.${key}.text`, callSettings[key]?.text ?? ''])
  }
  found.push(['callSettings.voicemail.message.text', callSettings.voicemail.message?.text ?? ''])
  callSettings.nudges.steps.forEach((step, index) => {
    found.push([`callSettings.nudges.steps[${index}].line.text`, step.line.text])
  })
  for (const key of ['preTransferLine', 'afterMissLine'] as const) {
    found.push([`callSettings.transfer.${key}.text`, callSettings.transfer[key]?.text ?? ''])
  }
  tools.forEach((tool, index) => {
    found.push([`tools[${index}].description`, tool.description])
    for (const [language, text] of Object.entries(tool.speech)) {
      found.push([`tools[${index}].speech.${language}`, text])
    }
    found.push([`tools[${index}].mock.response`, tool.mock?.response ?? ''])
  })
  return found
}

/**
 * Returns the first text that uses undeclared variables, with their names. Returns null when there is none.
 */
export function findUndeclared(config: AgentConfig): { path: string; names: readonly string[] } | null {
  const known = new Set<string>([
    ...BUILT_IN_VARIABLES,
    ...config.inputVariables.map((variable) => variable.name),
  ])
  for (const [path, text] of texts(config)) {
    const names = new Set<string>()
    for (const [, name] of text.matchAll(PLACEHOLDER)) {
      if (name !== undefined && !known.has(name)) names.add(name)
    }
    if (names.size > 0) return { path, names: [...names] }
  }
  return null
}

/** Returns the path of the first text with double braces that are no placeholder. Null when there is none. */
export function findMalformed(config: AgentConfig): string | null {
  const found = texts(config).find(([, text]) => text.replaceAll(PLACEHOLDER, '').includes('{{'))
  return found === undefined ? null : found[0]
}

/**
 * Resolves a call's input variables: the given value, else the default. `missing` lists required variables
 * without either. Values of undeclared variables are ignored.
 */
export function resolveVariables(
  config: AgentConfig,
  given: VariableValues,
): { readonly values: VariableValues; readonly missing: readonly string[] } {
  const values: Record<string, string> = {}
  const missing: string[] = []
  for (const variable of config.inputVariables) {
    const value = Object.hasOwn(given, variable.name) ? given[variable.name] : variable.default
    if (value !== undefined && value !== null) values[variable.name] = value
    else if (variable.required) missing.push(variable.name)
  }
  return { values, missing }
}
