import { type AgentSpec, PLAIN_SETTINGS, type TransferSpec } from '../../media/agent/agent-spec.js'
import { readConfig } from '../agents/config.js'
import { resolveVariables } from '../agents/placeholders.js'
import { buildAgentSpec } from '../agents/spec.js'
import type { Deps } from '../api/deps.js'
import type { Db } from '../db/database.js'
import type { CallRow } from '../db/tables/calling.js'
import { type Destination, listDestinations, MAX_DESTINATIONS } from '../destinations/store.js'

/** Settings for transfers of the party on our side of a call. */
export type TransferParty =
  | { readonly kind: 'agent'; readonly spec: AgentSpec; readonly lines: true }
  /** A bot speaks for itself. */
  | { readonly kind: 'bot'; readonly spec: Pick<AgentSpec, 'languages' | 'transfer'>; readonly lines: false }

/** Returns the party of a call, or null for a call that has none or whose agent is gone from the catalogue. */
export async function transferParty(
  { db, clock, settings }: Pick<Deps, 'db' | 'clock' | 'settings'>,
  call: CallRow,
): Promise<TransferParty | null> {
  // A call of a bot has an agent once that took over.
  if (call.routingMode === 'byo_ws' && call.agentId === null) {
    return { kind: 'bot', lines: false, spec: { languages: ['en-IN'], transfer: PLAIN_SETTINGS.transfer } }
  }
  const { agentId, agentVersionId, organizationId } = call
  if (agentId === null) return null
  const agent = await db
    .selectFrom('agents')
    .select(['name', 'draft'])
    .where('id', '=', agentId)
    .where('organizationId', '=', organizationId)
    .executeTakeFirst()
  // A call without a version is one with the draft.
  const version =
    agentVersionId === null
      ? { config: agent?.draft ?? '' }
      : await db
          .selectFrom('agentVersions')
          .select('config')
          .where('id', '=', agentVersionId)
          .where('organizationId', '=', organizationId)
          .executeTakeFirst()
  if (agent === undefined || version === undefined) return null
  const config = readConfig(version.config)
  const { values } = resolveVariables(config, JSON.parse(call.variables))
  const spec = buildAgentSpec(
    {
      agentId,
      agentVersionId,
      name: agent.name,
      config,
      direction: call.direction,
      from: call.fromNumber,
      to: call.toNumber,
      variables: values,
      now: clock.wall(),
    },
    settings.providers,
  )
  return spec === null ? null : { kind: 'agent', spec, lines: true }
}

/** Returns all destinations of the organization of a call, with their verification in its environment. */
export async function allDestinations(db: Db, call: CallRow): Promise<readonly Destination[]> {
  const { items } = await listDestinations(db, call, { limit: MAX_DESTINATIONS, after: null })
  return items
}

/**
 * Returns whether a request in plain words starts the default transfer at once. With another destination that has its own
 * reason, the model chooses: it hears the same words and knows every reason.
 */
export function startsByWords({ requestPhrases, defaultDestinationId, destinations }: TransferSpec): boolean {
  const others = destinations.filter(({ destinationId }) => destinationId !== defaultDestinationId)
  return requestPhrases && others.every(({ when }) => when.trim() === '')
}
