import { EMBEDDED_LANGUAGE_MODEL, EMBEDDED_RECOGNITION_MODEL } from '../../media/vendors/vendor-ids.js'
import type { Db, Trx } from '../db/database.js'
import type { AgentVersionRow } from '../db/tables/calling.js'
import { type AgentConfig, readVersionConfig } from './config.js'
import type { ConfigProblem } from './rules.js'
import { findAgent, findVersion } from './store.js'

/*
 * The sandbox models simulate a language model and speech recognition for the simulated callers of the test
 * environment. They neither answer nor understand a real caller, so live calls cannot use them.
 */

/** Returns the first model of a configuration that cannot carry live calls. */
export function testOnlyModel({ llmModel, voice }: AgentConfig): ConfigProblem | null {
  const problem = (path: string, model: string): ConfigProblem => ({
    path,
    message: `The model ${model} works in the test environment only. Live calls need another model.`,
  })
  if (llmModel === EMBEDDED_LANGUAGE_MODEL) return problem('llmModel', llmModel)
  if (voice.sttModel === EMBEDDED_RECOGNITION_MODEL) return problem('voice.sttModel', voice.sttModel)
  return null
}

/** Returns why a version cannot carry calls of an environment, or null when it can. */
export function environmentProblem(
  environment: 'test' | 'live',
  version: Pick<AgentVersionRow, 'config'>,
): ConfigProblem | null {
  return environment === 'test' ? null : testOnlyModel(readVersionConfig(version.config))
}

/** Returns why an agent cannot be bound to a live number. An agent without a version can be bound. */
export async function liveBindingProblem(
  db: Db | Trx,
  organizationId: string,
  agentId: string,
): Promise<ConfigProblem | null> {
  const agent = await findAgent(db, organizationId, agentId)
  if (agent === null || agent.publishedVersion === null) return null
  const version = await findVersion(db, organizationId, agentId, agent.publishedVersion)
  return version === null ? null : environmentProblem('live', version)
}

/** Returns whether the agent is bound to a live number, in any routing mode. */
export async function isBoundToLiveNumber(
  db: Db | Trx,
  organizationId: string,
  agentId: string,
): Promise<boolean> {
  const row = await db
    .selectFrom('numbers')
    .select('id')
    .where('organizationId', '=', organizationId)
    .where('environment', '=', 'live')
    .where('agentId', '=', agentId)
    .where('releasedAt', 'is', null)
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}
