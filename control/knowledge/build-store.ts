import { newId } from '../../media/base/ids.js'
import { newestFirst, type Page, type PageRequest } from '../api/pagination.js'
import type { Db, Trx } from '../db/database.js'
import type { KnowledgeBuildRow } from '../db/tables/knowledge.js'
import { insertEvent } from '../events/store.js'
import { addJobs } from '../jobs/store.js'
import { uploadedDocuments } from './document-store.js'

/** Kind of the jobs that build. The lane is the organization, the payload is the build. */
export const BUILD_JOB = 'knowledge.build'

interface Owner {
  readonly organizationId: string
  readonly knowledgeBaseId: string
}

/**
 * Starts a build. Returns `no_base`, or `no_documents` when no document has its bytes. Rejects with a unique
 * violation while another build of the base runs.
 */
export async function insertBuild(
  trx: Trx,
  owner: Owner,
  now: number,
): Promise<KnowledgeBuildRow | 'no_base' | 'no_documents'> {
  const { organizationId, knowledgeBaseId } = owner
  const id = newId('bld', now)
  const base = await trx
    .updateTable('knowledgeBases')
    .set({ latestBuildId: id, updatedAt: now })
    .where('organizationId', '=', organizationId)
    .where('id', '=', knowledgeBaseId)
    .returning('id')
    .executeTakeFirst()
  if (base === undefined) return 'no_base'
  const documents = await uploadedDocuments(trx, organizationId, knowledgeBaseId)
  if (documents.length === 0) return 'no_documents'
  const row = await trx
    .insertInto('knowledgeBuilds')
    .values({
      id,
      organizationId,
      knowledgeBaseId,
      status: 'processing',
      error: null,
      documents: documents.length,
      documentsDone: 0,
      chunkCount: null,
      compiledTokens: null,
      inlineText: null,
      embeddingModel: null,
      warnings: '[]',
      ...{ embeddingTokens: 0, promptTokens: 0, completionTokens: 0 },
      createdAt: now,
      finishedAt: null,
    })
    .returningAll()
    .executeTakeFirstOrThrow()
  const job = { id: `${BUILD_JOB}:${id}`, kind: BUILD_JOB, lane: organizationId, dueAt: now, payload: id }
  await addJobs(trx, [job], now)
  return row
}

export async function findBuild(
  db: Db | Trx,
  organizationId: string,
  id: string,
): Promise<KnowledgeBuildRow | null> {
  const row = await db
    .selectFrom('knowledgeBuilds')
    .selectAll()
    .where('organizationId', '=', organizationId)
    .where('id', '=', id)
    .executeTakeFirst()
  return row ?? null
}

/** Lists the builds of a base, newest first. */
export function listBuilds(db: Db, owner: Owner, page: PageRequest): Promise<Page<KnowledgeBuildRow>> {
  return newestFirst(
    db
      .selectFrom('knowledgeBuilds')
      .selectAll()
      .where('organizationId', '=', owner.organizationId)
      .where('knowledgeBaseId', '=', owner.knowledgeBaseId),
    page,
  )
}

/** Returns the build of a job that still runs, or null. The id of a job is known to the service only. */
export async function findOpenBuild(db: Db, id: string): Promise<KnowledgeBuildRow | null> {
  const row = await db
    .selectFrom('knowledgeBuilds')
    .selectAll()
    .where('id', '=', id)
    .where('status', '=', 'processing')
    .executeTakeFirst()
  return row ?? null
}

/** Stores how many documents of a build are done. */
export async function setProgress(
  trx: Trx,
  id: string,
  documentsDone: number,
  documents: number,
): Promise<void> {
  await trx
    .updateTable('knowledgeBuilds')
    .set({ documentsDone, documents })
    .where('id', '=', id)
    .where('status', '=', 'processing')
    .execute()
}

/** Adds the tokens that models counted to what a build took. */
export async function addTokens(
  trx: Trx,
  id: string,
  tokens: Partial<Record<'embeddingTokens' | 'promptTokens' | 'completionTokens', number>>,
): Promise<void> {
  const { embeddingTokens = 0, promptTokens = 0, completionTokens = 0 } = tokens
  await trx
    .updateTable('knowledgeBuilds')
    .set((column) => ({
      embeddingTokens: column('embeddingTokens', '+', embeddingTokens),
      promptTokens: column('promptTokens', '+', promptTokens),
      completionTokens: column('completionTokens', '+', completionTokens),
    }))
    .where('id', '=', id)
    .execute()
}

/** Result of a build. Only a completed one changes what agents answer from. */
export type BuildResult =
  | {
      readonly status: 'completed'
      readonly chunkCount: number
      readonly compiledTokens: number
      readonly inlineText: string | null
      readonly embeddingModel: string | null
      /** Sentences about what the build does without. */
      readonly warnings: readonly string[]
    }
  | { readonly status: 'failed'; readonly error: string }

/** Ends a build once: a completed one serves from now on. Inserts the event. */
export async function finishBuild(
  trx: Trx,
  { id, organizationId, knowledgeBaseId }: KnowledgeBuildRow,
  result: BuildResult,
  now: number,
): Promise<void> {
  const ended = await trx
    .updateTable('knowledgeBuilds')
    .set({
      ...result,
      ...(result.status === 'completed' ? { warnings: JSON.stringify(result.warnings) } : {}),
      finishedAt: now,
    } as Partial<KnowledgeBuildRow>)
    .where('id', '=', id)
    .where('status', '=', 'processing')
    .returning('id')
    .executeTakeFirst()
  // The base was deleted meanwhile.
  if (ended === undefined) return
  if (result.status === 'completed') {
    await trx
      .updateTable('knowledgeBases')
      .set({ servingBuildId: id, updatedAt: now })
      .where('organizationId', '=', organizationId)
      .where('id', '=', knowledgeBaseId)
      .execute()
  }
  const subjects = { knowledgeBase: knowledgeBaseId, build: id }
  const type = result.status === 'completed' ? 'knowledge.build.completed' : 'knowledge.build.failed'
  await insertEvent(trx, { organizationId, environment: null, type, subjects }, now)
}
