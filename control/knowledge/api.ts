import { z } from 'zod'
import { audited } from '../api/audited.js'
import { listOperation, operation } from '../api/operation.js'
import { type Refusal, refuse } from '../api/problem.js'
import { oneLine } from '../base/schemas.js'
import { isForeignKeyViolation } from '../db/constraint-error.js'
import { deleteBase, findBase, insertBase, listBases, MAX_BASES } from './store.js'
import { BasePath, baseView, KnowledgeBase, noBase } from './view.js'

/** Fields of a knowledge base that people write. */
export const BaseFields = { name: oneLine(80), description: z.string().max(500).nullable() }

export const listKnowledgeBases = listOperation({
  id: 'listKnowledgeBases',
  path: '/v1/knowledge-bases',
  tag: 'Knowledge',
  summary: 'List knowledge bases',
  description: 'Newest first. Both environments share them.',
  audience: 'key',
  scope: 'read',
  result: KnowledgeBase,
  fails: [],
  run: async ({ actor, deps, page }) => {
    const { items, next } = await listBases(deps.db, actor.organizationId, page)
    return { items: items.map(baseView), next }
  },
})

export const createKnowledgeBase = operation({
  id: 'createKnowledgeBase',
  method: 'post',
  path: '/v1/knowledge-bases',
  tag: 'Knowledge',
  summary: 'Create a knowledge base',
  description: 'Add documents, build it, and name it in the `knowledgeBaseIds` of agents.',
  audience: 'key',
  scope: 'write',
  body: z.strictObject({ name: BaseFields.name, description: BaseFields.description.default(null) }),
  status: 201,
  result: KnowledgeBase,
  fails: ['conflict'],
  run: ({ body, actor, deps, requestId }) => {
    const { organizationId } = actor
    return audited({ actor, deps, requestId }, async (trx, record, now) => {
      const row = await insertBase(trx, { ...body, organizationId }, now)
      if (row === null) {
        return refuse(
          'conflict',
          `An organization has at most ${MAX_BASES} knowledge bases. Delete one first.`,
        )
      }
      await record('knowledge_base.created', row.id, { after: { name: row.name } })
      const base = await findBase(trx, organizationId, row.id)
      return base === null ? noBase() : baseView(base)
    })
  },
})

export const readKnowledgeBase = operation({
  id: 'readKnowledgeBase',
  method: 'get',
  path: '/v1/knowledge-bases/:id',
  tag: 'Knowledge',
  summary: 'Get a knowledge base',
  description:
    'A base that serves its last good build stays `ready` when a newer build fails. `inline` bases are part of the ' +
    'prompt of their agents; of `search` bases the agent gets the passages that fit a question.',
  audience: 'key',
  scope: 'read',
  params: BasePath,
  status: 200,
  result: KnowledgeBase,
  fails: ['not_found'],
  run: async ({ params, actor, deps }) => {
    const row = await findBase(deps.db, actor.organizationId, params.id)
    return row === null ? noBase() : baseView(row)
  },
})

export const deleteKnowledgeBase = operation({
  id: 'deleteKnowledgeBase',
  method: 'delete',
  path: '/v1/knowledge-bases/:id',
  tag: 'Knowledge',
  summary: 'Delete a knowledge base',
  description:
    'Deletes its documents too. Fails while the draft or the published version of an agent uses it.',
  audience: 'key',
  scope: 'write',
  params: BasePath,
  status: 204,
  fails: ['not_found', 'conflict'],
  run: async ({ params, actor, deps, requestId }): Promise<undefined | Refusal> => {
    try {
      return await audited({ actor, deps, requestId }, async (trx, record) => {
        if (!(await deleteBase(trx, actor.organizationId, params.id))) return noBase()
        await record('knowledge_base.deleted', params.id)
        return undefined
      })
    } catch (error) {
      if (!isForeignKeyViolation(error)) throw error
      return refuse('conflict', 'Agents use the knowledge base. Remove it from their knowledgeBaseIds first.')
    }
  },
})
