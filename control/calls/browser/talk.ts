import type { Clock } from '../../../media/base/clock.js'
import { isId } from '../../../media/base/ids.js'
import type { ProviderSettings } from '../../../workers/channel/protocol.js'
import { readConfig } from '../../agents/config.js'
import { environmentProblem } from '../../agents/live-models.js'
import { draftDelivery, findAgent, findVersion } from '../../agents/store.js'
import { type Refusal, refuse } from '../../api/problem.js'
import type { Db } from '../../db/database.js'
import type { AgentRow, NumberRow } from '../../db/tables/calling.js'
import { loadAgentKnowledge } from '../../knowledge/agent-knowledge.js'
import { findNumber, type Owner } from '../../numbers/store.js'
import { agentPartySpec, type PartySpec, type SpokenVersion } from '../placement/party-spec.js'

/** The caller's name in the call's record: a browser has no number. */
export const BROWSER_CALLER = 'browser'

/** A call with an agent from the dashboard. It counts as a call to one of the organization's numbers. */
export interface Talk extends Owner {
  readonly agentId: string
  /** Null for the draft. */
  readonly version: number | null
  /** Hash of the draft, which must not have changed since; null for a version. */
  readonly draftHash: string | null
  readonly numberId: string
  readonly variables: Readonly<Record<string, string>>
}

export interface TalkDeps {
  readonly db: Db
  readonly clock: Clock
  readonly providers: ProviderSettings
}

/** Returns the number and the agent of a call that begins now, or why it cannot. */
export async function prepareTalk(
  { db, clock, providers }: TalkDeps,
  talk: Talk,
): Promise<{ readonly number: NumberRow; readonly party: PartySpec } | Refusal> {
  const number = await findNumber(db, talk, talk.numberId)
  if (number?.status !== 'active') {
    return refuse('unprocessable_entity', 'The number is not active. Use another number.', {
      path: 'numberId',
    })
  }
  const agent = isId('agt', talk.agentId) ? await findAgent(db, talk.organizationId, talk.agentId) : null
  if (agent === null)
    return refuse('not_found', 'The agent does not exist.', { resource: 'agent', path: 'agentId' })
  if (talk.draftHash !== null && talk.draftHash !== agent.draftHash)
    return refuse('conflict', 'The draft has changed since you read it. Try again.')
  const version =
    talk.version === null
      ? await draftOf(db, agent)
      : await findVersion(db, talk.organizationId, agent.id, talk.version)
  if (version === null)
    return refuse('not_found', 'The version does not exist.', { resource: 'version', path: 'version' })
  const problem = environmentProblem(talk.environment, version)
  if (problem !== null) return refuse('unprocessable_entity', problem.message, { path: problem.path })
  const knowledge = await loadAgentKnowledge(db, version)
  if (knowledge.notReady.length > 0) {
    return refuse('knowledge_base_not_ready', 'A knowledge base of the agent has not been built yet.', {
      knowledgeBaseIds: knowledge.notReady,
    })
  }
  const numbers = { direction: 'inbound', from: BROWSER_CALLER, to: number.e164 } as const
  const party = await agentPartySpec(db, talk.environment, { agent, version }, numbers, {
    recorded: number.recordCalls === 1,
    variables: talk.variables,
    providers,
    knowledge,
    now: clock.wall(),
  })
  if (party === null)
    return refuse('unprocessable_entity', 'A voice or model of the agent is not available.', {
      path: 'agentId',
    })
  const { missing } = party
  if (missing.length > 0) {
    return refuse('missing_variables', `Values are missing for: ${missing.join(', ')}.`, { missing })
  }
  return { number, party }
}

/** A draft as if it were published now. */
async function draftOf(db: Db, agent: AgentRow): Promise<SpokenVersion & { readonly knowledge: string }> {
  const { organizationId, draft: config, purpose } = agent
  const knowledge = await draftDelivery(db, organizationId, readConfig(config))
  return { id: null, version: null, organizationId, config, purpose, knowledge }
}
