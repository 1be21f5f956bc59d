import { uuidOf } from '../../../media/base/ids.js'
import { transportOf } from '../../../media/byo/bot-spec.js'
import type { CallParty } from '../../../signalling/call/ports.js'
import type { ProviderSettings } from '../../../workers/channel/protocol.js'
import { readConfig } from '../../agents/config.js'
import { resolveVariables } from '../../agents/placeholders.js'
import { buildAgentSpec } from '../../agents/spec.js'
import { asPurpose } from '../../agents/store.js'
import type { RootKey } from '../../base/root-key.js'
import type { GateRequest } from '../../compliance/gate.js'
import type { Db } from '../../db/database.js'
import type { AgentRow, AgentVersionRow, CallRow, NumberRow } from '../../db/tables/calling.js'
import { readEndpoint } from '../../numbers/media-endpoint.js'
import { readSecretValue } from '../../secrets/store.js'
import { openVault } from '../../secrets/vault.js'
import type { SlotPool } from './call-slots.js'

/*
 * Who speaks on our side of a call: an agent of ours, or the customer's own bot.
 */

/** What the call's row, its gate and its media need to know of it. */
export interface PartySpec {
  readonly row: Pick<CallRow, 'agentId' | 'agentVersion' | 'agentVersionId' | 'routingMode'>
  readonly purpose: GateRequest['purpose']
  readonly pool: SlotPool
  readonly trigger: 'call' | 'byo'
  party(callId: string): CallParty
}

/** The two ends of the call, from the point of view of the caller. */
export interface CallNumbers {
  readonly direction: 'inbound' | 'outbound'
  readonly from: string
  readonly to: string
}

/** `missing`: input variables without a value, for which placeholders are left empty. */
export type AgentPartySpec = PartySpec & { readonly missing: readonly string[] }

/** Null when a voice or model of the version has left the catalogue. */
export function agentPartySpec(
  { agent, version }: { readonly agent: AgentRow; readonly version: AgentVersionRow },
  ends: CallNumbers,
  options: {
    readonly variables: Readonly<Record<string, string>>
    readonly providers: ProviderSettings
    readonly now: number
  },
): AgentPartySpec | null {
  const config = readConfig(version.config)
  const { values, missing } = resolveVariables(config, options.variables)
  const spec = buildAgentSpec(
    {
      agentId: agent.id,
      agentVersionId: version.id,
      name: agent.name,
      config,
      ...ends,
      variables: values,
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
    missing,
    party: () => ({ kind: 'agent', agent: spec }),
  }
}

/** Any call is over at two hours (decisions 4); the reaper comes two minutes after the bot's own limit. */
const MAX_BOT_SECONDS = 2 * 3600 - 120

export type BotProblem = 'no_endpoint' | 'no_classification' | 'no_variables' | 'no_semicolons'

/** The bot of a number in `byo_ws`, or what it lacks. Throws EngineError `storage_failed`. */
export async function botPartySpec(
  deps: { readonly db: Db; readonly rootKey: RootKey },
  number: NumberRow,
  ends: CallNumbers,
  variables: Readonly<Record<string, string>>,
): Promise<PartySpec | BotProblem> {
  const { db, rootKey } = deps
  const endpoint = readEndpoint(number.mediaEndpoint)
  if (endpoint === null) return 'no_endpoint'
  // A protocol without words: what it was given would go nowhere.
  if (transportOf(endpoint.type) === 'tcp' && Object.keys(variables).length > 0) return 'no_variables'
  // Parameters in one line: these would make two of one.
  const inLine = endpoint.type === 'plivo' || endpoint.type === 'vobiz'
  if (inLine && Object.entries(variables).some(([name, value]) => /[;=]/.test(name) || /;/.test(value))) {
    return 'no_semicolons'
  }
  const { organizationId } = number
  const classification = await classificationOf(db, organizationId)
  // Whom we call has rights that hang on it; whoever calls us called by themselves.
  if (classification === null && ends.direction === 'outbound') return 'no_classification'
  const { authSecretId, customParameters, ...target } = endpoint
  const secret =
    authSecretId === null
      ? null
      : await readSecretValue(db, openVault(rootKey, 'secret-encryption'), organizationId, authSecretId)
  return {
    row: { agentId: null, agentVersion: null, agentVersionId: null, routingMode: 'byo_ws' },
    purpose: asPurpose(classification),
    pool: 'byoCalls',
    trigger: 'byo',
    party: (callId) => ({
      kind: 'bot',
      bot: {
        ...target,
        ...ends,
        secret,
        customParameters: { ...customParameters, ...variables },
        callId: uuidOf(callId),
        accountId: uuidOf(organizationId),
        maxCallSeconds: MAX_BOT_SECONDS,
      },
    }),
  }
}

async function classificationOf(db: Db, organizationId: string): Promise<string | null> {
  const row = await db
    .selectFrom('organizations')
    .select('senderClassification')
    .where('id', '=', organizationId)
    .executeTakeFirst()
  return row?.senderClassification ?? null
}
