import { z } from 'zod'
import { MATCHES } from '../../media/knowledge/passage-index.js'
import { listOperation } from '../api/operation.js'
import { refuse } from '../api/problem.js'
import { integerParam, openEnum } from '../base/schemas.js'
import { findBase } from './store.js'
import { BasePath, noBase } from './view.js'

const FoundPassage = z.object({
  text: z.string(),
  score: z.number().meta({ description: 'Share of the question that the passage covers, 0 to 1.' }),
  documentId: z.string(),
  documentName: z.string(),
  index: z.int().meta({ description: 'Position of the passage in its document, from 0.' }),
  heading: z.string(),
  page: z.int().nullable().meta({ description: 'From 1. Null for formats without pages.' }),
  matched: z.array(openEnum(...MATCHES)).meta({
    description:
      'How the passage was found: by its words, their sounds, the questions that a model made for it, or its meaning.',
  }),
})

/** Longest wait for the vector of a question. No caller waits on the telephone here. */
const VECTORS_MS = 5000

export const searchKnowledgeBase = listOperation({
  id: 'searchKnowledgeBase',
  path: '/v1/knowledge-bases/:id/search',
  tag: 'Knowledge',
  summary: 'Search a knowledge base',
  description: 'Returns the passages that an agent would get for the question, the best first.',
  audience: 'key',
  scope: 'read',
  params: BasePath,
  query: z.object({
    query: z.string().min(1).max(500),
    limit: integerParam(1, 10).optional(),
  }),
  result: FoundPassage,
  paged: false,
  fails: ['not_found', 'knowledge_base_not_ready'],
  run: async ({ params, query, actor, deps }) => {
    const { organizationId } = actor
    const base = await findBase(deps.db, organizationId, params.id)
    if (base === null) return noBase()
    if (base.servingBuildId === null) {
      return refuse(
        'knowledge_base_not_ready',
        'The knowledge base has not been built yet. Build it first.',
        {
          knowledgeBaseIds: [base.id],
        },
      )
    }
    const bases = [{ id: base.id, buildId: base.servingBuildId }]
    const options = { limit: query.limit ?? 5, vectorsMs: VECTORS_MS }
    const { passages } = await deps.knowledge.search(organizationId, bases, { text: query.query }, options)
    const items = passages.map(({ knowledgeBaseId: _base, matched, ...passage }) => ({
      ...passage,
      matched: [...matched],
    }))
    return { items, next: null }
  },
})
