import { z } from 'zod'
import { audited } from '../api/audited.js'
import { operation } from '../api/operation.js'
import { type Refusal, refuse } from '../api/problem.js'
import { ADMIN_ROLES } from '../api/scopes.js'
import { authorOf } from '../compliance/bulk.js'
import { isForeignKeyViolation } from '../db/constraint-error.js'
import { PURPOSES } from '../organization/view.js'
import { readConfig } from './config.js'
import { publishProblem } from './publishable.js'
import { clearUses, missingReference, recordUses } from './references.js'
import { deleteAgent as deleteAgentRow, findAgent, findVersion, rollBack, setPurpose } from './store.js'
import {
  Agent,
  AgentPath,
  AgentVersion,
  changedMeanwhile,
  noAgent,
  versionView,
  withNumbers,
} from './view.js'

export const rollbackAgent = operation({
  id: 'rollbackAgent',
  method: 'post',
  path: '/v1/agents/:id/rollback',
  tag: 'Agents',
  summary: 'Roll back an agent to an earlier version',
  description:
    'Publishes a copy of the earlier version and replaces the draft with it. The purpose does not change.',
  audience: 'key',
  scope: 'write',
  params: AgentPath,
  body: z.strictObject({ version: z.int().min(1).max(999_999_999) }),
  status: 201,
  result: AgentVersion,
  fails: ['not_found', 'unprocessable_entity', 'conflict'],
  run: async ({ params, body, actor, deps, requestId }) => {
    const { organizationId } = actor
    const seen = await findAgent(deps.db, organizationId, params.id)
    if (seen === null) return noAgent()
    const version = await findVersion(deps.db, organizationId, seen.id, body.version)
    if (version === null) {
      return refuse('not_found', 'The version does not exist. Correct version.', {
        resource: 'version',
        path: 'version',
      })
    }
    const config = readConfig(version.config)
    // The catalogue and the organization's secrets may have changed since the version was published.
    const problem = await publishProblem(deps, seen, config)
    if (problem !== null) return problem
    const missing = await missingReference(deps.db, organizationId, config)
    if (missing !== null) {
      const message = `The version uses a ${missing.resource.replaceAll('_', ' ')} that no longer exists.`
      return refuse('unprocessable_entity', message, { path: missing.path })
    }
    const now = deps.clock.wall()
    try {
      return await deps.db.transaction().execute(async (trx) => {
        const done = await rollBack(trx, seen, version, authorOf(actor), now)
        if (done === null) return changedMeanwhile()
        await recordUses(trx, done.agent, { actor, requestId, now })
        return versionView(done.version)
      })
    } catch (error) {
      if (isForeignKeyViolation(error)) return changedMeanwhile()
      throw error
    }
  },
})

export const deleteAgent = operation({
  id: 'deleteAgent',
  method: 'delete',
  path: '/v1/agents/:id',
  tag: 'Agents',
  summary: 'Delete an agent',
  description:
    'Fails while the agent is on a call. Unbinds the numbers of the agent; its versions and calls are kept.',
  audience: 'key',
  scope: 'write',
  params: AgentPath,
  status: 204,
  fails: ['not_found', 'conflict'],
  run: ({ params, actor, deps }): Promise<undefined | Refusal> => {
    const now = deps.clock.wall()
    return deps.db.transaction().execute(async (trx) => {
      const deleted = await deleteAgentRow(trx, actor.organizationId, params.id, now)
      if (deleted === 'missing') return noAgent()
      if (deleted === 'on_call') {
        return refuse('conflict', 'The agent is on a call. Delete it after its calls have ended.')
      }
      await clearUses(trx, params.id)
      return undefined
    })
  },
})

/** Attempts to apply a change when other requests change the agent at the same time. */
const ATTEMPTS = 5

export const setAgentSenderClassification = operation({
  id: 'setAgentSenderClassification',
  method: 'put',
  path: '/v1/agents/:id/sender-classification',
  tag: 'Agents',
  summary: 'Set the sender classification of an agent',
  description: 'Changes the purpose of calls in the draft. It applies once the draft is published.',
  audience: 'session',
  roles: ADMIN_ROLES,
  params: AgentPath,
  body: z.strictObject({ senderClassification: z.enum(PURPOSES) }),
  status: 200,
  result: Agent,
  fails: ['not_found', 'conflict'],
  run: async ({ params, body, actor, deps, requestId }) => {
    const { organizationId } = actor
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const changed = await audited({ actor, deps, requestId }, async (trx, record, now) => {
        const seen = await findAgent(trx, organizationId, params.id)
        if (seen === null) return noAgent()
        const row = await setPurpose(trx, seen, body.senderClassification, now)
        if (row === null) return null
        await record('agent.sender_classification_set', row.id, {
          before: { senderClassification: seen.purpose },
          after: { senderClassification: row.purpose },
        })
        return withNumbers(trx, actor, row)
      })
      if (changed !== null) return changed
    }
    return changedMeanwhile()
  },
})
