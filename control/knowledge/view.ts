import { z } from 'zod'
import { refuse } from '../api/problem.js'
import { idParam, openEnum, Timestamp, timestamp, timestampOrNull } from '../base/schemas.js'
import type { KnowledgeBuildRow } from '../db/tables/knowledge.js'
import type { BaseWithCounts, DocumentWithUpload } from './store.js'

/** Largest knowledge base that is part of the prompt (tokens, see `media/agent/llm/context-window.ts`). */
export const INLINE_TOKENS = 6000

export const KnowledgeBase = z
  .object({
    id: z.string(),
    name: z.string(),
    description: z.string().nullable().meta({ description: 'For people. The agent does not read it.' }),
    status: openEnum('empty', 'processing', 'ready', 'error'),
    deliveryMode: openEnum('inline', 'search', 'pending'),
    docCount: z.int(),
    totalBytes: z.int(),
    chunkCount: z.int().nullable(),
    compiledTokens: z.int().nullable(),
    agentCount: z.int(),
    error: z.string().nullable(),
    createdAt: Timestamp,
    updatedAt: Timestamp,
  })
  .meta({ description: 'The knowledge base as its GET operation returns it.' })

export const KnowledgeDocument = z.object({
  id: z.string(),
  knowledgeBaseId: z.string(),
  name: z.string(),
  contentType: z.string(),
  bytes: z.int(),
  status: openEnum('awaiting_upload', 'uploaded', 'processing', 'ready', 'error'),
  error: z.string().nullable(),
  chunkCount: z.int().nullable(),
  createdAt: Timestamp,
})

export const KnowledgeBuild = z.object({
  id: z.string(),
  knowledgeBaseId: z.string(),
  status: openEnum('processing', 'completed', 'failed'),
  error: z.string().nullable(),
  documents: z.int(),
  documentsDone: z.int().meta({ description: 'Documents that are read, or that cannot be read.' }),
  chunkCount: z.int().nullable(),
  compiledTokens: z.int().nullable(),
  embeddingModel: z.string().nullable().meta({
    description: 'Model whose vectors the search uses besides words. Null for words only.',
  }),
  warnings: z.array(z.string()).meta({
    description: 'What a completed build does without, and why, as sentences for people.',
  }),
  modelTokens: z
    .object({ embedding: z.int(), prompt: z.int(), completion: z.int() })
    .meta({ description: 'Tokens that the models of the build counted. Unchanged passages take none.' }),
  startedAt: Timestamp,
  finishedAt: Timestamp.nullable(),
})

export const BasePath = z.object({ id: idParam('kb') })
export const DocumentPath = z.object({ id: idParam('kb'), documentId: idParam('doc') })
export const BuildPath = z.object({ id: idParam('kb'), buildId: idParam('bld') })

export const noBase = () => refuse('not_found', 'The knowledge base does not exist.')
export const noDocument = () => refuse('not_found', 'The document does not exist.')

export function baseView(row: BaseWithCounts): z.input<typeof KnowledgeBase> {
  const serving = row.servingBuildId !== null
  const status =
    row.latestStatus === 'processing'
      ? 'processing'
      : serving
        ? 'ready'
        : row.latestStatus === 'failed'
          ? 'error'
          : 'empty'
  const { compiledTokens } = row
  return {
    id: row.id,
    name: row.name,
    description: row.description,
    status,
    deliveryMode: compiledTokens === null ? 'pending' : compiledTokens <= INLINE_TOKENS ? 'inline' : 'search',
    docCount: Number(row.docCount),
    totalBytes: Number(row.totalBytes),
    chunkCount: row.chunkCount,
    compiledTokens,
    agentCount: Number(row.agentCount),
    error: status === 'error' ? row.latestError : null,
    createdAt: timestamp(row.createdAt),
    updatedAt: timestamp(row.updatedAt),
  }
}

export function documentView(row: DocumentWithUpload): z.input<typeof KnowledgeDocument> {
  const { status, uploadState } = row
  return {
    id: row.id,
    knowledgeBaseId: row.knowledgeBaseId,
    name: row.name,
    contentType: row.contentType,
    bytes: row.bytes,
    status: status === 'new' ? (uploadState === 'used' ? 'uploaded' : 'awaiting_upload') : status,
    error: row.error,
    chunkCount: row.chunkCount,
    createdAt: timestamp(row.createdAt),
  }
}

export function buildView(row: KnowledgeBuildRow): z.input<typeof KnowledgeBuild> {
  return {
    id: row.id,
    knowledgeBaseId: row.knowledgeBaseId,
    status: row.status,
    error: row.error,
    documents: row.documents,
    documentsDone: row.documentsDone,
    chunkCount: row.chunkCount,
    compiledTokens: row.compiledTokens,
    embeddingModel: row.embeddingModel,
    warnings: JSON.parse(row.warnings),
    modelTokens: {
      embedding: Number(row.embeddingTokens),
      prompt: Number(row.promptTokens),
      completion: Number(row.completionTokens),
    },
    startedAt: timestamp(row.createdAt),
    finishedAt: timestampOrNull(row.finishedAt),
  }
}
