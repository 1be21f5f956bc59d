import type { Deps } from '../api/deps.js'
import { type Refusal, refuse } from '../api/problem.js'
import type { AgentRow } from '../db/tables/calling.js'
import type { AgentConfig } from './config.js'
import { isBoundToLiveNumber, testOnlyModel } from './live-models.js'
import { findMalformed, findUndeclared } from './placeholders.js'
import { catalogueProblem } from './rules.js'
import { targetRefusal } from './secret-targets.js'

/** Returns why a configuration cannot be published, or null. A draft may be incomplete, a version may not. */
export async function publishProblem(
  deps: Pick<Deps, 'db' | 'settings'>,
  { organizationId, id }: Pick<AgentRow, 'organizationId' | 'id'>,
  config: AgentConfig,
): Promise<Refusal<'unprocessable_entity'> | null> {
  if (config.systemPrompt.trim() === '') {
    return refuse(
      'unprocessable_entity',
      'The agent has no system prompt. Set systemPrompt before publishing.',
      { path: 'systemPrompt' },
    )
  }
  const malformed = findMalformed(config)
  if (malformed !== null) {
    const message = 'A placeholder is malformed. Write {{name}}, where name is a variable.'
    return refuse('unprocessable_entity', message, { path: malformed })
  }
  const unknown = findUndeclared(config)
  if (unknown !== null) {
    const message = `Undeclared variables: ${unknown.names.join(', ')}.`
    return refuse('unprocessable_entity', message, { path: unknown.path, undeclared: unknown.names })
  }
  // The catalogue and the hosts of secrets may have changed since the configuration was saved.
  const problem =
    catalogueProblem(config, deps.settings.providers) ??
    ((await isBoundToLiveNumber(deps.db, organizationId, id)) ? testOnlyModel(config) : null)
  if (problem !== null) return refuse('unprocessable_entity', problem.message, { path: problem.path })
  return targetRefusal(deps.db, organizationId, config)
}
