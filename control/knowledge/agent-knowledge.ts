import type { KnowledgeText } from '../../media/agent/agent-spec.js'
import type { BaseToSearch } from '../api/deps.js'
import type { Db } from '../db/database.js'
import type { AgentVersionRow } from '../db/tables/calling.js'
import { deliveryOf, readDelivery } from './delivery.js'
import { findBases } from './store.js'

/** The knowledge of an agent in a call that begins now. */
export interface AgentKnowledge {
  /** Texts for the prompt, the smallest first. */
  readonly inline: readonly KnowledgeText[]
  readonly searched: readonly BaseToSearch[]
  /** Bases that were never built. */
  readonly notReady: readonly string[]
}

/** Loads the knowledge of a version: its bases with the builds that serve now. */
export async function loadAgentKnowledge(
  db: Db,
  { organizationId, knowledge }: Pick<AgentVersionRow, 'organizationId' | 'knowledge'>,
): Promise<AgentKnowledge> {
  const published = readDelivery(knowledge)
  const bases = await findBases(
    db,
    organizationId,
    published.map(({ id }) => id),
  )
  const deliveries = deliveryOf(bases, published)
  const inline: KnowledgeText[] = []
  const searched: BaseToSearch[] = []
  for (const { id, buildId, mode } of deliveries) {
    if (buildId === null) continue
    const text = mode === 'inline' ? await inlineText(db, organizationId, buildId) : null
    const name = bases.find((base) => base.id === id)?.name ?? ''
    if (text === null) searched.push({ id, buildId })
    else inline.push({ mode: 'inline', name, text })
  }
  const notReady = deliveries.filter(({ buildId }) => buildId === null).map(({ id }) => id)
  return { inline, searched, notReady }
}

async function inlineText(db: Db, organizationId: string, buildId: string): Promise<string | null> {
  const row = await db
    .selectFrom('knowledgeBuilds')
    .select('inlineText')
    .where('organizationId', '=', organizationId)
    .where('id', '=', buildId)
    .executeTakeFirst()
  return row?.inlineText ?? null
}
