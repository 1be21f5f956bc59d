import { z } from 'zod'
import { audited } from '../api/audited.js'
import { listOperation, operation } from '../api/operation.js'
import { refuse } from '../api/problem.js'
import { isUniqueViolation } from '../db/constraint-error.js'
import { findBuild, insertBuild, listBuilds } from './build-store.js'
import { findBase } from './store.js'
import { BasePath, BuildPath, buildView, KnowledgeBuild, noBase } from './view.js'

export const buildKnowledgeBase = operation({
  id: 'buildKnowledgeBase',
  method: 'post',
  path: '/v1/knowledge-bases/:id/build',
  tag: 'Knowledge',
  summary: 'Build a knowledge base',
  description:
    'Reads the documents and makes their passages searchable. Agents answer from the last good build until this one ' +
    'is complete. A document that cannot be read gets the status `error` and is left out.',
  audience: 'key',
  scope: 'write',
  params: BasePath,
  status: 202,
  result: z.object({ build: KnowledgeBuild }),
  fails: ['not_found', 'conflict', 'unprocessable_entity'],
  run: async ({ params, actor, deps, requestId }) => {
    const owner = { organizationId: actor.organizationId, knowledgeBaseId: params.id }
    try {
      return await audited({ actor, deps, requestId }, async (trx, record, now) => {
        const row = await insertBuild(trx, owner, now)
        if (row === 'no_base') return noBase()
        if (row === 'no_documents') throw new NoDocuments()
        await record('knowledge_build.started', row.id)
        return { build: buildView(row) }
      })
    } catch (error) {
      if (error instanceof NoDocuments) {
        return refuse(
          'unprocessable_entity',
          'The knowledge base has no uploaded documents. Upload one first.',
        )
      }
      if (!isUniqueViolation(error)) throw error
      return refuse('conflict', 'A build of the knowledge base is running. Wait until it ends.', {
        status: 'processing',
      })
    }
  },
})

/** Undoes the transaction. */
class NoDocuments extends Error {}

export const listKnowledgeBuilds = listOperation({
  id: 'listKnowledgeBuilds',
  path: '/v1/knowledge-bases/:id/builds',
  tag: 'Knowledge',
  summary: 'List the builds of a knowledge base',
  description: 'Newest first.',
  audience: 'key',
  scope: 'read',
  params: BasePath,
  result: KnowledgeBuild,
  fails: ['not_found'],
  run: async ({ params, actor, deps, page }) => {
    const { organizationId } = actor
    if ((await findBase(deps.db, organizationId, params.id)) === null) return noBase()
    const { items, next } = await listBuilds(deps.db, { organizationId, knowledgeBaseId: params.id }, page)
    return { items: items.map(buildView), next }
  },
})

export const readKnowledgeBuild = operation({
  id: 'readKnowledgeBuild',
  method: 'get',
  path: '/v1/knowledge-bases/:id/builds/:buildId',
  tag: 'Knowledge',
  summary: 'Get a build of a knowledge base',
  description: 'While it runs, `documentsDone` tells its progress.',
  audience: 'key',
  scope: 'read',
  params: BuildPath,
  status: 200,
  result: KnowledgeBuild,
  fails: ['not_found'],
  run: async ({ params, actor, deps }) => {
    const row = await findBuild(deps.db, actor.organizationId, params.buildId)
    if (row === null || row.knowledgeBaseId !== params.id)
      return refuse('not_found', 'The build does not exist.')
    return buildView(row)
  },
})
