import { isId } from '../../media/base/ids.js'
import { newestFirst, type Page, type PageRequest } from '../api/pagination.js'
import { setConnectionUses, unknownConnections } from '../connections/store.js'
import type { Db, Trx } from '../db/database.js'
import type { AgentRow } from '../db/tables/calling.js'
import type { KnowledgeUseRow } from '../db/tables/knowledge.js'
import { setDestinationUses, unknownDestinations } from '../destinations/store.js'
import { setKnowledgeUses, unknownBases } from '../knowledge/store.js'
import { recordTargets, type SecretChange } from '../secrets/host-store.js'
import { setSecretUses, unknownSecrets } from '../secrets/store.js'
import { type AgentConfig, readConfig } from './config.js'
import { secretTargets } from './secret-targets.js'
import { findVersion } from './store.js'

/** Id prefixes of the resources that a configuration can name. */
const PREFIX = {
  secret: 'sec',
  connection: 'cxn',
  knowledge_base: 'kb',
  transfer_destination: 'tdst',
} as const

/** A resource of the organization that a configuration names. */
export interface Reference {
  readonly resource: keyof typeof PREFIX
  readonly id: string
  readonly path: string
}

export function referencesOf(config: AgentConfig): readonly Reference[] {
  return [...toolReferences(config), ...knowledgeReferences(config), ...transferReferences(config)]
}

function toolReferences(config: AgentConfig): readonly Reference[] {
  return config.tools.flatMap((tool, index) => {
    const auth = tool.http?.auth ?? null
    const at = `tools[${index}]`
    const found: Reference[] = []
    if (tool.connectionId !== null) {
      found.push({ resource: 'connection', id: tool.connectionId, path: `${at}.connectionId` })
    }
    if (auth !== null && auth.secretId !== null) {
      found.push({ resource: 'secret', id: auth.secretId, path: `${at}.http.auth.secretId` })
    }
    if (auth !== null && auth.secondary !== null) {
      const path = `${at}.http.auth.secondary.secretId`
      found.push({ resource: 'secret', id: auth.secondary.secretId, path })
    }
    return found
  })
}

function knowledgeReferences({ knowledgeBaseIds }: AgentConfig): readonly Reference[] {
  return knowledgeBaseIds.map((id, index) => ({
    resource: 'knowledge_base',
    id,
    path: `knowledgeBaseIds[${index}]`,
  }))
}

/** `defaultDestinationId` is one of the destinations, so it is not listed again. */
function transferReferences({ callSettings: { transfer } }: AgentConfig): readonly Reference[] {
  return transfer.destinations.flatMap(({ destinationId, fallbackDestinationId }, index) => {
    const at = `callSettings.transfer.destinations[${index}]`
    const resource = 'transfer_destination' as const
    const found: Reference[] = [{ resource, id: destinationId, path: `${at}.destinationId` }]
    if (fallbackDestinationId !== null) {
      found.push({ resource, id: fallbackDestinationId, path: `${at}.fallbackDestinationId` })
    }
    return found
  })
}

/** Returns the first named resource that the organization does not have, or null when it has all. */
export async function missingReference(
  db: Db | Trx,
  organizationId: string,
  config: AgentConfig,
): Promise<Reference | null> {
  const references = referencesOf(config)
  if (references.length === 0) return null
  const missing = new Set([
    ...(await unknownSecrets(db, organizationId, idsOf(references, 'secret'))),
    ...(await unknownConnections(db, organizationId, idsOf(references, 'connection'))),
    ...(await unknownDestinations(db, organizationId, idsOf(references, 'transfer_destination'))),
    ...(await unknownBases(db, organizationId, idsOf(references, 'knowledge_base'))),
  ])
  return references.find(({ resource, id }) => missing.has(id) || !isId(PREFIX[resource], id)) ?? null
}

/**
 * Records the resources that an agent's draft and published version use, so that they cannot be deleted, and
 * the hosts that the draft sends secrets to. Rejects with a foreign key violation when a resource is gone.
 */
export async function recordUses(
  trx: Trx,
  agent: AgentRow,
  change: Omit<SecretChange, 'organizationId'>,
): Promise<void> {
  const { organizationId } = agent
  const draft = readConfig(agent.draft)
  const references = [...referencesOf(draft)]
  let published: readonly string[] = []
  if (agent.publishedVersion !== null) {
    const version = await findVersion(trx, organizationId, agent.id, agent.publishedVersion)
    const config = version === null ? null : readConfig(version.config)
    if (config !== null && agent.publishedHash !== agent.draftHash) references.push(...referencesOf(config))
    published = config?.knowledgeBaseIds ?? []
  }
  await setKnowledgeUses(trx, agent.id, { draft: draft.knowledgeBaseIds, published })
  await setSecretUses(trx, { type: 'agent', id: agent.id }, idsOf(references, 'secret'))
  await setConnectionUses(trx, agent.id, idsOf(references, 'connection'))
  await setDestinationUses(trx, agent.id, idsOf(references, 'transfer_destination'))
  const targets = await secretTargets(trx, organizationId, draft)
  await recordTargets(trx, targets, { ...change, organizationId })
}

/** Clears the recorded uses of a deleted agent. */
export async function clearUses(trx: Trx, agentId: string): Promise<void> {
  await setSecretUses(trx, { type: 'agent', id: agentId }, [])
  await setConnectionUses(trx, agentId, [])
  await setDestinationUses(trx, agentId, [])
  await setKnowledgeUses(trx, agentId, { draft: [], published: [] })
}

/** An agent that uses a knowledge base. */
export type AgentOfBase = Pick<AgentRow, 'id' | 'name' | 'publishedVersion' | 'createdAt'> &
  Pick<KnowledgeUseRow, 'inDraft' | 'inPublished'>

/** Returns a page of the agents whose draft or published version uses a knowledge base, the newest first. */
export function pageOfAgentsOfBase(
  db: Db,
  organizationId: string,
  knowledgeBaseId: string,
  page: PageRequest,
): Promise<Page<AgentOfBase>> {
  return newestFirst(agentsUsing(db, organizationId, knowledgeBaseId), page, { alias: 'agents' })
}

/** Returns all agents whose draft or published version uses a knowledge base, the oldest first. */
export function agentsOfBase(
  db: Db | Trx,
  organizationId: string,
  knowledgeBaseId: string,
): Promise<readonly AgentOfBase[]> {
  return agentsUsing(db, organizationId, knowledgeBaseId)
    .orderBy('agents.createdAt')
    .orderBy('agents.id')
    .execute()
}

function agentsUsing(db: Db | Trx, organizationId: string, knowledgeBaseId: string) {
  return db
    .selectFrom('knowledgeUses as use')
    .innerJoin('agents', 'agents.id', 'use.agentId')
    .where('use.knowledgeBaseId', '=', knowledgeBaseId)
    .where('agents.organizationId', '=', organizationId)
    .where('agents.deletedAt', 'is', null)
    .select([
      'agents.id',
      'agents.name',
      'agents.publishedVersion',
      'agents.createdAt',
      'use.inDraft',
      'use.inPublished',
    ])
}

function idsOf(references: readonly Reference[], resource: Reference['resource']): readonly string[] {
  return [
    ...new Set(
      references.filter((reference) => reference.resource === resource).map((reference) => reference.id),
    ),
  ]
}
