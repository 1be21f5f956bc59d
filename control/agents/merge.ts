import { randomUUID } from 'node:crypto'
import { AgentConfig, type ConfigPatch } from './config.js'

/**
 * Returns the configuration after a PATCH: omitted fields stay, objects are merged, arrays and string maps
 * are replaced. `or-IN` becomes `od-IN`; criteria without an id get one.
 */
export function mergeConfig(config: AgentConfig, patch: ConfigPatch): AgentConfig {
  return AgentConfig.parse(normalise(deepMerge(config, patch)))
}

function deepMerge(base: unknown, patch: unknown): unknown {
  if (patch === undefined) return base
  if (!isObject(base) || !isObject(patch)) return patch
  const merged: Record<string, unknown> = { ...base }
  for (const [key, value] of Object.entries(patch)) merged[key] = deepMerge(merged[key], value)
  return merged
}

/** Normalises language tags and gives every criterion an id. */
function normalise(config: unknown): unknown {
  const oriya = JSON.parse(
    JSON.stringify(config, (key, value: unknown) =>
      key === 'speech' && isObject(value) ? renameOriya(value) : value,
    ),
  ) as Record<string, unknown>
  const { voice, evaluationCriteria } = oriya
  if (isObject(voice)) {
    voice.sttLanguage = tag(voice.sttLanguage)
    if (Array.isArray(voice.languages)) voice.languages = [...new Set(voice.languages.map(tag))]
  }
  if (Array.isArray(evaluationCriteria)) {
    oriya.evaluationCriteria = evaluationCriteria.map((criterion: unknown) =>
      isObject(criterion) ? { id: randomUUID(), ...criterion } : criterion,
    )
  }
  return oriya
}

const tag = (language: unknown): unknown => (language === 'or-IN' ? 'od-IN' : language)

function renameOriya(speech: Record<string, unknown>): Record<string, unknown> {
  const { 'or-IN': oriya, ...rest } = speech
  return oriya === undefined ? rest : { 'od-IN': oriya, ...rest }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
