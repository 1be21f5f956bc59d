import { z } from 'zod'
import type { Actor } from '../api/actor.js'
import type { AuditFields } from '../api/audit.js'
import { audited } from '../api/audited.js'
import { listOperation, operation } from '../api/operation.js'
import { isRefusal, type Refusal, refuse } from '../api/problem.js'
import { patchBody } from '../base/schemas.js'
import type { Trx } from '../db/database.js'
import type { AgentRow } from '../db/tables/calling.js'
import { BaseFields } from '../knowledge/api.js'
import { findBase, updateBase } from '../knowledge/store.js'
import { BasePath, baseView, KnowledgeBase, noBase } from '../knowledge/view.js'
import { MAX_KNOWLEDGE_BASES, readConfig } from './config.js'
import { agentsOfBase, pageOfAgentsOfBase, recordUses } from './references.js'
import { findAgent, updateDraft } from './store.js'
import { changedMeanwhile } from './view.js'

/*
 * The operations of knowledge bases that read or change agents.
 */

/** Attempts to apply a change when other requests change the agents at the same time. */
const ATTEMPTS = 5

const BaseAgent = z.object({
  id: z.string(),
  name: z.string(),
  inDraft: z.boolean(),
  inPublished: z.boolean(),
  publishedVersion: z.int().nullable(),
})

export const listKnowledgeBaseAgents = listOperation({
  id: 'listKnowledgeBaseAgents',
  path: '/v1/knowledge-bases/:id/agents',
  tag: 'Knowledge',
  summary: 'List the agents that use a knowledge base',
  description: 'Newest first. An agent uses a base in its draft, in its published version, or in both.',
  audience: 'key',
  scope: 'read',
  params: BasePath,
  result: BaseAgent,
  defaultLimit: 100,
  fails: ['not_found'],
  run: async ({ params, actor, deps, page }) => {
    const { organizationId } = actor
    if ((await findBase(deps.db, organizationId, params.id)) === null) return noBase()
    const rows = await pageOfAgentsOfBase(deps.db, organizationId, params.id, page)
    const items = rows.items.map(({ id, name, inDraft, inPublished, publishedVersion }) => ({
      id,
      name,
      inDraft: inDraft === 1,
      inPublished: inPublished === 1,
      publishedVersion,
    }))
    return { items, next: rows.next }
  },
})

export const updateKnowledgeBase = operation({
  id: 'updateKnowledgeBase',
  method: 'patch',
  path: '/v1/knowledge-bases/:id',
  tag: 'Knowledge',
  summary: 'Update a knowledge base',
  description:
    'Sets the agents whose draft uses the base: `agentIds` is the complete list, and an empty one detaches all. ' +
    'Agents use the base in calls once they are published.',
  audience: 'key',
  scope: 'write',
  params: BasePath,
  body: patchBody({ ...BaseFields, agentIds: z.array(z.string().min(1).max(64)).max(1000) }),
  status: 200,
  result: KnowledgeBase,
  fails: ['not_found', 'unprocessable_entity', 'conflict'],
  run: async ({ params, body, actor, deps, requestId }) => {
    const { agentIds, ...change } = body
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const done = await guarded(() =>
        audited({ actor, deps, requestId }, async (trx, record, now) => {
          if (!(await updateBase(trx, actor.organizationId, params.id, change, now))) return noBase()
          if (agentIds !== undefined) {
            const problem = await attach(trx, { baseId: params.id, agentIds, actor, requestId, now })
            if (problem !== null) throw new Rollback(problem)
          }
          await record('knowledge_base.updated', params.id, { after: definedFields(body) })
          const base = await findBase(trx, actor.organizationId, params.id)
          return base === null ? noBase() : baseView(base)
        }),
      )
      if (!isRefusal(done) || done.code !== 'conflict') return done
    }
    return changedMeanwhile()
  },
})

function definedFields(body: object): AuditFields {
  return Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined))
}

type Problem = Refusal<'not_found' | 'unprocessable_entity' | 'conflict'>

/** Undoes the transaction. */
class Rollback extends Error {
  constructor(readonly problem: Problem) {
    super('the change was refused')
  }
}

async function guarded<T>(run: () => Promise<T>): Promise<T | Problem> {
  try {
    return await run()
  } catch (error) {
    if (error instanceof Rollback) return error.problem
    throw error
  }
}

/** Makes the drafts of exactly these agents use the base. Returns why that is impossible, or null. */
async function attach(
  trx: Trx,
  change: {
    readonly baseId: string
    readonly agentIds: readonly string[]
    readonly actor: Actor
    readonly requestId: string
    readonly now: number
  },
): Promise<Problem | null> {
  const { baseId, actor, requestId, now } = change
  const { organizationId } = actor
  const wanted = new Set(change.agentIds)
  const users = await agentsOfBase(trx, organizationId, baseId)
  const present = new Set(users.filter(({ inDraft }) => inDraft === 1).map(({ id }) => id))
  const rewrite = async (agent: AgentRow, ids: readonly string[]): Promise<Problem | null> => {
    const { name, description } = agent
    const config = { ...readConfig(agent.draft), knowledgeBaseIds: [...ids] }
    const row = await updateDraft(trx, agent, { name, description, config }, now)
    if (row === null) return changedMeanwhile()
    await recordUses(trx, row, { actor, requestId, now })
    return null
  }
  for (const id of new Set([...wanted, ...present])) {
    if (wanted.has(id) && present.has(id)) continue
    const path = `agentIds[${change.agentIds.indexOf(id)}]`
    const agent = await findAgent(trx, organizationId, id)
    if (agent === null) {
      // An agent that was deleted meanwhile needs no detaching.
      if (!wanted.has(id)) continue
      return refuse('not_found', `The agent does not exist. Correct ${path}.`, { resource: 'agent', path })
    }
    const { knowledgeBaseIds } = readConfig(agent.draft)
    const others = knowledgeBaseIds.filter((baseOf) => baseOf !== baseId)
    if (wanted.has(id) && others.length >= MAX_KNOWLEDGE_BASES) {
      const message = `An agent has at most ${MAX_KNOWLEDGE_BASES} knowledge bases. Remove one from ${id} first.`
      return refuse('unprocessable_entity', message, { path })
    }
    const problem = await rewrite(agent, wanted.has(id) ? [...others, baseId] : others)
    if (problem !== null) return problem
  }
  return null
}
