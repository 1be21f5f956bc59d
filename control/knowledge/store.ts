import { newId } from '../../media/base/ids.js'
import { newestFirst, type Page, type PageRequest } from '../api/pagination.js'
import type { Db, Trx } from '../db/database.js'
import { changedIds, unknownIds } from '../db/owned-rows.js'
import type { KnowledgeBaseRow, KnowledgeBuildRow, KnowledgeDocumentRow } from '../db/tables/knowledge.js'
import type { UploadRow } from '../db/tables/organization.js'
import { discardUploads } from '../uploads/store.js'

/** Knowledge bases that an organization may have. */
export const MAX_BASES = 500

/** A base with what its documents, its builds and the agents tell about it. */
export interface BaseWithCounts extends KnowledgeBaseRow {
  readonly docCount: number
  readonly totalBytes: number
  readonly agentCount: number
  readonly latestStatus: KnowledgeBuildRow['status'] | null
  readonly latestError: string | null
  readonly chunkCount: number | null
  readonly compiledTokens: number | null
}

export interface DocumentWithUpload extends KnowledgeDocumentRow {
  /** Null when the upload expired. */
  readonly uploadState: UploadRow['state'] | null
}

/** Returns null when the organization has `MAX_BASES` bases. */
export async function insertBase(
  trx: Trx,
  base: Pick<KnowledgeBaseRow, 'organizationId' | 'name' | 'description'>,
  now: number,
): Promise<KnowledgeBaseRow | null> {
  const { bases } = await trx
    .selectFrom('knowledgeBases')
    .select((column) => column.fn.countAll<number>().as('bases'))
    .where('organizationId', '=', base.organizationId)
    .executeTakeFirstOrThrow()
  if (Number(bases) >= MAX_BASES) return null
  return trx
    .insertInto('knowledgeBases')
    .values({
      ...base,
      id: newId('kb', now),
      servingBuildId: null,
      latestBuildId: null,
      createdAt: now,
      updatedAt: now,
    })
    .returningAll()
    .executeTakeFirstOrThrow()
}

export async function findBase(
  db: Db | Trx,
  organizationId: string,
  id: string,
): Promise<BaseWithCounts | null> {
  return (await counted(db, organizationId).where('base.id', '=', id).executeTakeFirst()) ?? null
}

/** Lists bases, newest first. */
export function listBases(db: Db, organizationId: string, page: PageRequest): Promise<Page<BaseWithCounts>> {
  return newestFirst(counted(db, organizationId), page, { alias: 'base' })
}

/** Returns those of the bases that exist. */
export async function findBases(
  db: Db | Trx,
  organizationId: string,
  ids: readonly string[],
): Promise<readonly BaseWithCounts[]> {
  if (ids.length === 0) return []
  return counted(db, organizationId).where('base.id', 'in', ids).execute()
}

/** Updates the name and the description. Returns false when there is no such base. */
export async function updateBase(
  trx: Trx,
  organizationId: string,
  id: string,
  change: { readonly name?: string | undefined; readonly description?: string | null | undefined },
  now: number,
): Promise<boolean> {
  const row = await trx
    .updateTable('knowledgeBases')
    .set({ ...change, updatedAt: now })
    .where('organizationId', '=', organizationId)
    .where('id', '=', id)
    .returning('id')
    .executeTakeFirst()
  return row !== undefined
}

/**
 * Deletes a base with its documents and builds. Returns false when there is none. Rejects with a foreign key
 * violation while an agent uses the base. The sweeps delete the objects.
 */
export async function deleteBase(trx: Trx, organizationId: string, id: string): Promise<boolean> {
  const documents = await trx
    .deleteFrom('knowledgeDocuments')
    .where('organizationId', '=', organizationId)
    .where('knowledgeBaseId', '=', id)
    .returning('uploadId')
    .execute()
  await discardUploads(
    trx,
    documents.map(({ uploadId }) => uploadId),
  )
  await trx.deleteFrom('knowledgeExtras').where('knowledgeBaseId', '=', id).execute()
  await trx
    .deleteFrom('knowledgeBuilds')
    .where('organizationId', '=', organizationId)
    .where('knowledgeBaseId', '=', id)
    .execute()
  const row = await trx
    .deleteFrom('knowledgeBases')
    .where('organizationId', '=', organizationId)
    .where('id', '=', id)
    .returning('id')
    .executeTakeFirst()
  return row !== undefined
}

/** Returns the ids that are no knowledge base of the organization. */
export function unknownBases(
  db: Db | Trx,
  organizationId: string,
  ids: readonly string[],
): Promise<readonly string[]> {
  return unknownIds(db, 'knowledgeBases', organizationId, ids)
}

/** Records the bases that an agent uses. Rejects with a foreign key violation when a base is gone. */
export async function setKnowledgeUses(
  trx: Trx,
  agentId: string,
  uses: { readonly draft: readonly string[]; readonly published: readonly string[] },
): Promise<void> {
  const rows = await trx.selectFrom('knowledgeUses').selectAll().where('agentId', '=', agentId).execute()
  const after = [...new Set([...uses.draft, ...uses.published])]
  const { removed } = changedIds(
    rows.map(({ knowledgeBaseId }) => knowledgeBaseId),
    after,
  )
  if (removed.length > 0) {
    await trx
      .deleteFrom('knowledgeUses')
      .where('agentId', '=', agentId)
      .where('knowledgeBaseId', 'in', removed)
      .execute()
  }
  for (const knowledgeBaseId of after) {
    const flags = {
      inDraft: uses.draft.includes(knowledgeBaseId) ? 1 : 0,
      inPublished: uses.published.includes(knowledgeBaseId) ? 1 : 0,
    }
    await trx
      .insertInto('knowledgeUses')
      .values({ knowledgeBaseId, agentId, ...flags })
      .onConflict((conflict) => conflict.columns(['knowledgeBaseId', 'agentId']).doUpdateSet(flags))
      .execute()
  }
}

function counted(db: Db | Trx, organizationId: string) {
  return db
    .selectFrom('knowledgeBases as base')
    .leftJoin('knowledgeBuilds as latest', 'latest.id', 'base.latestBuildId')
    .leftJoin('knowledgeBuilds as serving', 'serving.id', 'base.servingBuildId')
    .where('base.organizationId', '=', organizationId)
    .selectAll('base')
    .select([
      'latest.status as latestStatus',
      'latest.error as latestError',
      'serving.chunkCount',
      'serving.compiledTokens',
    ])
    .select(({ selectFrom, fn, val }) => [
      selectFrom('knowledgeDocuments as document')
        .innerJoin('uploads', 'uploads.id', 'document.uploadId')
        .whereRef('document.knowledgeBaseId', '=', 'base.id')
        .where('uploads.state', '=', 'used')
        .select((column) => column.fn.countAll<number>().as('count'))
        .$asScalar()
        .$notNull()
        .as('docCount'),
      selectFrom('knowledgeDocuments as document')
        .innerJoin('uploads', 'uploads.id', 'document.uploadId')
        .whereRef('document.knowledgeBaseId', '=', 'base.id')
        .where('uploads.state', '=', 'used')
        .select((column) => fn.coalesce(column.fn.sum<number>('document.bytes'), val(0)).as('sum'))
        .$asScalar()
        .$notNull()
        .as('totalBytes'),
      selectFrom('knowledgeUses')
        .whereRef('knowledgeUses.knowledgeBaseId', '=', 'base.id')
        .select((column) => column.fn.countAll<number>().as('count'))
        .$asScalar()
        .$notNull()
        .as('agentCount'),
    ])
}
