import { createHash } from 'node:crypto'
import { sql } from 'kysely'
import { newId } from '../../media/base/ids.js'
import { newestFirst, type Page, type PageRequest, pageOf } from '../api/pagination.js'
import { canonicalJson } from '../base/canonical-json.js'
import type { Purpose } from '../compliance/calling-hours.js'
import type { Author } from '../compliance/suppression-store.js'
import type { Db, Trx } from '../db/database.js'
import type { AgentRow, AgentVersionRow } from '../db/tables/calling.js'
import { deliveryOf } from '../knowledge/delivery.js'
import { findBases } from '../knowledge/store.js'
import { type AgentConfig, readConfig } from './config.js'

/** An agent with the numbers that it answers in one environment. */
export interface AgentWithNumbers {
  readonly row: AgentRow
  readonly numberIds: readonly string[]
}

/** An agent and the version that was published. */
export interface PublishedAgent {
  readonly agent: AgentRow
  readonly version: AgentVersionRow
}

type Environment = 'test' | 'live'

interface Publication {
  readonly note: string | null
  readonly by: Author
}

export async function createAgent(
  db: Db | Trx,
  agent: {
    readonly organizationId: string
    readonly name: string
    readonly description: string | null
    readonly config: AgentConfig
  },
  now: number,
): Promise<AgentRow> {
  const purpose = await classification(db, agent.organizationId)
  const draft = canonicalJson(agent.config)
  return db
    .insertInto('agents')
    .values({
      id: newId('agt', now),
      organizationId: agent.organizationId,
      name: agent.name,
      description: agent.description,
      purpose,
      draft,
      draftHash: hashOf(draft, purpose),
      publishedHash: null,
      publishedVersion: null,
      latestVersion: null,
      revision: 1,
      createdAt: now,
      updatedAt: now,
      deletedAt: null,
    })
    .returningAll()
    .executeTakeFirstOrThrow()
}

/** Returns an agent that is not deleted, or null. */
export async function findAgent(db: Db | Trx, organizationId: string, id: string): Promise<AgentRow | null> {
  const row = await present(db, organizationId).where('id', '=', id).executeTakeFirst()
  return row ?? null
}

/** Returns whether the organization has or had the agent. Versions outlive their agent. */
export async function agentExisted(db: Db | Trx, organizationId: string, id: string): Promise<boolean> {
  const row = await db
    .selectFrom('agents')
    .select('id')
    .where('organizationId', '=', organizationId)
    .where('id', '=', id)
    .executeTakeFirst()
  return row !== undefined
}

/** Lists agents, newest first. */
export async function listAgents(
  db: Db,
  organizationId: string,
  { search }: { readonly search?: string | undefined },
  page: PageRequest,
): Promise<Page<AgentRow>> {
  const all = present(db, organizationId)
  if (search === undefined) return newestFirst(all, page)
  // The wildcards of LIKE stand for themselves.
  const pattern = `%${search.toLowerCase().replace(/[\\%_]/g, '\\$&')}%`
  return newestFirst(all.where(sql<boolean>`lower("name") like ${pattern} escape '\\'`), page)
}

/** Returns the numbers of one environment that are bound to each of the agents. */
export async function numbersOf(
  db: Db | Trx,
  organizationId: string,
  environment: Environment,
  agentIds: readonly string[],
): Promise<ReadonlyMap<string, readonly string[]>> {
  const bound = new Map<string, string[]>()
  if (agentIds.length === 0) return bound
  const rows = await db
    .selectFrom('numbers')
    .select(['id', 'agentId'])
    .where('organizationId', '=', organizationId)
    .where('environment', '=', environment)
    .where('releasedAt', 'is', null)
    .where('agentId', 'in', agentIds)
    .orderBy('id')
    .execute()
  for (const { id, agentId } of rows) {
    if (agentId !== null) bound.set(agentId, [...(bound.get(agentId) ?? []), id])
  }
  return bound
}

/**
 * Writes a changed draft if the agent is still at `seen.revision`. Returns null when it was changed or
 * deleted.
 */
export async function updateDraft(
  db: Db | Trx,
  seen: AgentRow,
  change: { readonly name: string; readonly description: string | null; readonly config: AgentConfig },
  now: number,
): Promise<AgentRow | null> {
  const draft = canonicalJson(change.config)
  const { name, description } = change
  return updateSeen(db, seen, { name, description, draft, draftHash: hashOf(draft, seen.purpose) }, now)
}

/** Publishes the draft that was `seen` as the next version. Returns null when the agent changed meanwhile. */
export function publishDraft(
  trx: Trx,
  seen: AgentRow,
  publication: Publication,
  now: number,
): Promise<PublishedAgent | null> {
  return publish(trx, seen, seen.draft, publication, now)
}

/**
 * Publishes a copy of an earlier version with the agent's current purpose and makes it the draft. Returns
 * null when the agent changed since it was `seen`.
 */
export function rollBack(
  trx: Trx,
  seen: AgentRow,
  to: AgentVersionRow,
  by: Author,
  now: number,
): Promise<PublishedAgent | null> {
  return publish(trx, seen, to.config, { note: `Rollback to version ${to.version}`, by }, now)
}

async function publish(
  trx: Trx,
  seen: AgentRow,
  config: string,
  { note, by }: Publication,
  now: number,
): Promise<PublishedAgent | null> {
  const version = (seen.latestVersion ?? 0) + 1
  const hash = hashOf(config, seen.purpose)
  const change = { draft: config, draftHash: hash, publishedHash: hash }
  const published = { latestVersion: version, publishedVersion: version }
  const agent = await updateSeen(trx, seen, { ...change, ...published }, now)
  if (agent === null) return null
  const knowledge = await draftDelivery(trx, seen.organizationId, readConfig(config))
  const row = await trx
    .insertInto('agentVersions')
    .values({
      id: newId('agv', now),
      organizationId: seen.organizationId,
      agentId: seen.id,
      version,
      purpose: seen.purpose,
      config,
      note,
      knowledge,
      createdByType: by.type,
      createdById: by.id,
      createdAt: now,
    })
    .returningAll()
    .executeTakeFirstOrThrow()
  return { agent, version: row }
}

/** Returns how the knowledge bases of a configuration are delivered now, as stored in a version. */
export async function draftDelivery(
  db: Db | Trx,
  organizationId: string,
  { knowledgeBaseIds }: AgentConfig,
): Promise<string> {
  return JSON.stringify(deliveryOf(await findBases(db, organizationId, knowledgeBaseIds)))
}

/** Changes the purpose of the draft. Returns null when the agent changed since it was `seen`. */
export async function setPurpose(
  trx: Trx,
  seen: AgentRow,
  purpose: Purpose,
  now: number,
): Promise<AgentRow | null> {
  return updateSeen(trx, seen, { purpose, draftHash: hashOf(seen.draft, purpose) }, now)
}

/** Marks an agent as deleted unless it is on a call, and unbinds its numbers in both environments. */
export async function deleteAgent(
  trx: Trx,
  organizationId: string,
  id: string,
  now: number,
): Promise<'deleted' | 'missing' | 'on_call'> {
  const row = await trx
    .updateTable('agents')
    .set((eb) => ({ deletedAt: now, updatedAt: now, revision: eb('revision', '+', 1) }))
    .where('id', '=', id)
    .where('organizationId', '=', organizationId)
    .where('deletedAt', 'is', null)
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('calls')
            .select('calls.id')
            .whereRef('calls.agentId', '=', 'agents.id')
            .where('calls.endedAt', 'is', null),
        ),
      ),
    )
    .returning('id')
    .executeTakeFirst()
  if (row === undefined) return (await findAgent(trx, organizationId, id)) === null ? 'missing' : 'on_call'
  await trx
    .updateTable('numbers')
    .set({ agentId: null })
    .where('organizationId', '=', organizationId)
    .where('agentId', '=', id)
    .execute()
  return 'deleted'
}

export async function findVersion(
  db: Db | Trx,
  organizationId: string,
  agentId: string,
  version: number,
): Promise<AgentVersionRow | null> {
  const row = await db
    .selectFrom('agentVersions')
    .selectAll()
    .where('organizationId', '=', organizationId)
    .where('agentId', '=', agentId)
    .where('version', '=', version)
    .executeTakeFirst()
  return row ?? null
}

/**
 * Returns the name of an agent that was not deleted, with one of its versions: `wanted`, or else the published one. The version is
 * null if there is none, the result if there is no agent.
 */
export async function findAgentVersion(
  db: Db | Trx,
  organizationId: string,
  agentId: string,
  wanted: number | null,
): Promise<{ readonly name: string; readonly version: AgentVersionRow | null } | null> {
  const row = await db
    .selectFrom('agents')
    .leftJoin('agentVersions', (join) =>
      join
        .onRef('agentVersions.organizationId', '=', 'agents.organizationId')
        .onRef('agentVersions.agentId', '=', 'agents.id')
        .on((on) => on('agentVersions.version', '=', wanted ?? on.ref('agents.publishedVersion'))),
    )
    .selectAll('agentVersions')
    .select('agents.name as agentName')
    .where('agents.organizationId', '=', organizationId)
    .where('agents.deletedAt', 'is', null)
    .where('agents.id', '=', agentId)
    .executeTakeFirst()
  if (row === undefined) return null
  const { agentName, ...version } = row
  return { name: agentName, version: version.id === null ? null : (version as AgentVersionRow) }
}

/** Lists versions, newest first. */
export async function listVersions(
  db: Db,
  organizationId: string,
  agentId: string,
  page: PageRequest,
): Promise<Page<AgentVersionRow>> {
  let query = db
    .selectFrom('agentVersions')
    .selectAll()
    .where('organizationId', '=', organizationId)
    .where('agentId', '=', agentId)
  // Versions are numbered without gaps, so the number alone is the position.
  if (page.after !== null) query = query.where('version', '<', Number(page.after.key))
  const rows = await query
    .orderBy('version', 'desc')
    .limit(page.limit + 1)
    .execute()
  return pageOf(
    rows,
    page,
    (row) => ({ key: row.version, id: row.id }),
    (row) => row,
  )
}

/** Returns the organization's sender classification, the initial purpose of its agents. */
export async function classification(db: Db | Trx, organizationId: string): Promise<Purpose> {
  const row = await db
    .selectFrom('organizations')
    .select('senderClassification')
    .where('id', '=', organizationId)
    .executeTakeFirst()
  return asPurpose(row?.senderClassification ?? null)
}

/** Parses a purpose. An unset or unknown one is treated as the strictest. */
export function asPurpose(text: string | null): Purpose {
  return text === 'service' || text === 'transactional' || text === 'collections' ? text : 'promotional'
}

/** Changes an agent that is still at `seen.revision`. Returns null when it was changed or deleted. */
async function updateSeen(
  db: Db | Trx,
  seen: AgentRow,
  change: Partial<AgentRow>,
  now: number,
): Promise<AgentRow | null> {
  const row = await db
    .updateTable('agents')
    // The time tells one state of an agent from the next, also within a millisecond.
    .set({ ...change, revision: seen.revision + 1, updatedAt: Math.max(now, seen.updatedAt + 1) })
    .where('id', '=', seen.id)
    .where('organizationId', '=', seen.organizationId)
    .where('revision', '=', seen.revision)
    .where('deletedAt', 'is', null)
    .returningAll()
    .executeTakeFirst()
  return row ?? null
}

function present(db: Db | Trx, organizationId: string) {
  return db
    .selectFrom('agents')
    .selectAll()
    .where('organizationId', '=', organizationId)
    .where('deletedAt', 'is', null)
}

function hashOf(draft: string, purpose: string): string {
  return createHash('sha256').update(purpose).update('\n').update(draft).digest('hex')
}
