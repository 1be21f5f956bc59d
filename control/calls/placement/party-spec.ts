import type { AgentSpec } from '../../../media/agent/agent-spec.js'
import type { Clock } from '../../../media/base/clock.js'
import { uuidOf } from '../../../media/base/ids.js'
import type { Log } from '../../../media/base/log.js'
import { dialectOf } from '../../../media/byo/dialects/registry.js'
import type { CallParty } from '../../../signalling/call/ports.js'
import type { ProviderSettings } from '../../../workers/channel/protocol.js'
import { readVersionConfig } from '../../agents/config.js'
import { environmentProblem } from '../../agents/live-models.js'
import { resolveVariables } from '../../agents/placeholders.js'
import { buildAgentSpec } from '../../agents/spec.js'
import { asPurpose, findAgent, findVersion } from '../../agents/store.js'
import type { RootKey } from '../../base/root-key.js'
import type { GateRequest } from '../../compliance/check.js'
import type { Db } from '../../db/database.js'
import type { AgentRow, AgentVersionRow, CallRow, NumberRow } from '../../db/tables/calling.js'
import { findDestinations } from '../../destinations/store.js'
import { type AgentKnowledge, loadAgentKnowledge } from '../../knowledge/agent-knowledge.js'
import { readEndpoint } from '../../numbers/media-endpoint.js'
import { type MonitoringRules, readMonitoring } from '../../organization/monitoring.js'
import { readSecretFor } from '../../secrets/host-store.js'
import { openVault } from '../../secrets/vault.js'
import type { SlotPool } from './call-slots.js'

/*
 * The party on our side of a call: one of our agents, or the customer's own bot.
 */

/** The party, for a call's row, its compliance gate and its media session. */
export interface PartySpec {
  readonly row: Pick<CallRow, 'agentId' | 'agentVersion' | 'agentVersionId' | 'routingMode'>
  readonly purpose: GateRequest['purpose']
  readonly pool: SlotPool
  readonly trigger: 'call' | 'byo'
  forCall(callId: string): CallParty
}

/** Direction and numbers of a call. `from` is the caller. */
export interface CallNumbers {
  readonly direction: 'inbound' | 'outbound'
  readonly from: string
  readonly to: string
}

/** `missing` lists input variables without a value; their placeholders are left empty. */
export type AgentPartySpec = PartySpec & { readonly spec: AgentSpec; readonly missing: readonly string[] }

/** The parts of an agent version that a call uses; a draft has neither id nor number. */
export type SpokenVersion = Pick<AgentVersionRow, 'organizationId' | 'config' | 'purpose'> & {
  readonly id: string | null
  readonly version: number | null
}

/** Builds the party of an agent. Returns null when a voice or model of the version has left the catalogue. */
export async function agentPartySpec(
  db: Db,
  environment: CallRow['environment'],
  { agent, version }: { readonly agent: Pick<AgentRow, 'id' | 'name'>; readonly version: SpokenVersion },
  numbers: CallNumbers,
  options: {
    readonly variables: Readonly<Record<string, string>>
    readonly providers: ProviderSettings
    readonly knowledge: AgentKnowledge
    readonly recorded: boolean
    /** Read if it is missing. */
    readonly monitoring?: MonitoringRules
    readonly now: number
  },
): Promise<AgentPartySpec | null> {
  const config = readVersionConfig(version.config)
  const { values, missing } = resolveVariables(config, options.variables)
  const { organizationId } = version
  const ids = config.callSettings.transfer.destinations.map(({ destinationId }) => destinationId)
  const destinations = await findDestinations(db, { organizationId, environment }, ids)
  const monitoring = options.monitoring ?? (await readMonitoring(db, organizationId))
  const spec = buildAgentSpec(
    {
      agentId: agent.id,
      agentVersionId: version.id,
      name: agent.name,
      config,
      ...numbers,
      variables: values,
      knowledge: options.knowledge,
      destinations: [...destinations.values()].map(({ row }) => row),
      givesNotice: options.recorded || monitoring[environment] !== 'off',
      now: options.now,
    },
    options.providers,
  )
  if (spec === null) return null
  return {
    row: {
      agentId: agent.id,
      agentVersion: version.version,
      agentVersionId: version.id,
      routingMode: 'svc_agent',
    },
    purpose: asPurpose(version.purpose),
    pool: 'agentCalls',
    trigger: 'call',
    spec,
    missing,
    forCall: () => ({ kind: 'agent', agent: spec }),
  }
}

/** Why no agent can answer for a number. */
export type AgentProblem = 'no_agent' | 'wrong_environment' | 'not_available'

export interface AgentDeps {
  readonly db: Db
  readonly clock: Clock
  readonly log: Log
  readonly providers: ProviderSettings
}

/**
 * Builds the party of the published agent of a number, or returns why it has none. The agent speaks without what is
 * missing: values of variables, and knowledge that is not built yet.
 */
export async function numberAgentSpec(
  { db, clock, log, providers }: AgentDeps,
  number: NumberRow,
  numbers: CallNumbers,
  variables: Readonly<Record<string, string>>,
): Promise<AgentPartySpec | AgentProblem> {
  if (number.agentId === null) return 'no_agent'
  const agent = await findAgent(db, number.organizationId, number.agentId)
  if (agent === null || agent.publishedVersion === null) return 'no_agent'
  const version = await findVersion(db, number.organizationId, agent.id, agent.publishedVersion)
  if (version === null) return 'no_agent'
  if (environmentProblem(number.environment, version) !== null) return 'wrong_environment'
  const knowledge = await loadAgentKnowledge(db, version)
  if (knowledge.notReady.length > 0) {
    log.warn({ agentId: agent.id, bases: knowledge.notReady }, 'call.knowledge_not_ready')
  }
  const party = await agentPartySpec(db, number.environment, { agent, version }, numbers, {
    recorded: number.recordCalls === 1,
    variables,
    providers,
    knowledge,
    now: clock.wall(),
  })
  if (party === null) return 'not_available'
  const { missing } = party
  if (missing.length > 0) log.warn({ agentId: agent.id, missing }, 'call.variables_missing')
  return party
}

/** No call lasts longer than two hours; the reaper ends it two minutes after the limit of a bot or a bridge. */
export const MAX_CALL_SECONDS = 2 * 3600 - 120

export type BotProblem =
  | 'no_endpoint'
  | 'no_classification'
  | 'no_variables'
  | 'no_semicolons'
  | 'secret_host_not_allowed'

/**
 * Builds the party of a number in `byo_ws`, or returns what is missing. A fallback agent that cannot answer is left out.
 * Throws EngineError `storage_failed`.
 */
export async function botPartySpec(
  deps: AgentDeps & { readonly rootKey: RootKey },
  number: NumberRow,
  numbers: CallNumbers,
  variables: Readonly<Record<string, string>>,
): Promise<PartySpec | BotProblem> {
  const { db, rootKey } = deps
  const endpoint = readEndpoint(number.mediaEndpoint)
  if (endpoint === null) return 'no_endpoint'
  const { parameters } = dialectOf(endpoint.type)
  if (parameters === 'none' && Object.keys(variables).length > 0) return 'no_variables'
  const separators = ([name, value]: readonly [string, string]) => /[;=]/.test(name) || value.includes(';')
  if (parameters === 'inline' && Object.entries(variables).some(separators)) return 'no_semicolons'
  const { organizationId } = number
  const classification = await classificationOf(db, organizationId)
  // Sender classification is a legal requirement for outbound calls only.
  if (classification === null && numbers.direction === 'outbound') return 'no_classification'
  const { authSecretId, customParameters, ...target } = endpoint
  let secret: string | null = null
  if (authSecretId !== null) {
    const vault = openVault(rootKey, 'secret-encryption')
    const found = await readSecretFor(db, vault, organizationId, { secretId: authSecretId, url: target.url })
    if (found.kind !== 'value') return 'secret_host_not_allowed'
    secret = found.value
  }
  const fallback = await fallbackAgent(deps, number, numbers, variables)
  return {
    row: { agentId: null, agentVersion: null, agentVersionId: null, routingMode: 'byo_ws' },
    purpose: asPurpose(classification),
    pool: 'byoCalls',
    trigger: 'byo',
    forCall: (callId) => ({
      kind: 'bot',
      bot: {
        ...target,
        ...numbers,
        secret,
        customParameters: { ...customParameters, ...variables },
        callId: uuidOf(callId),
        accountId: uuidOf(organizationId),
        maxCallSeconds: MAX_CALL_SECONDS,
      },
      ...(fallback === null ? {} : { fallback }),
    }),
  }
}

/** Returns the agent that takes over when the bot of a number is lost, or null when the call then ends. */
async function fallbackAgent(
  deps: AgentDeps,
  number: NumberRow,
  numbers: CallNumbers,
  variables: Readonly<Record<string, string>>,
): Promise<AgentSpec | null> {
  if (number.byoFallback === 'hangup') return null
  const agent = await numberAgentSpec(deps, number, numbers, variables)
  if (typeof agent !== 'string') return agent.spec
  deps.log.warn({ numberId: number.id, agentId: number.agentId, reason: agent }, 'call.fallback_unavailable')
  return null
}

async function classificationOf(db: Db, organizationId: string): Promise<string | null> {
  const row = await db
    .selectFrom('organizations')
    .select('senderClassification')
    .where('id', '=', organizationId)
    .executeTakeFirst()
  return row?.senderClassification ?? null
}
