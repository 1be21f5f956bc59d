import { isId } from '../../media/base/ids.js'
import { liveBindingProblem } from '../agents/live-models.js'
import { findAgent } from '../agents/store.js'
import { type Refusal, refuse } from '../api/problem.js'
import type { Db, Trx } from '../db/database.js'
import type { Owner } from './store.js'

/** Returns why an agent cannot answer a number of the owner, or null. */
export async function refuseAgent(
  db: Db | Trx,
  { organizationId, environment }: Owner,
  agentId: string,
): Promise<Refusal<'not_found' | 'unprocessable_entity'> | null> {
  if (!isId('agt', agentId) || (await findAgent(db, organizationId, agentId)) === null) {
    return refuse('not_found', 'The agent does not exist. Set agentId to an existing agent.', {
      resource: 'agent',
      path: 'agentId',
    })
  }
  const problem = environment === 'live' ? await liveBindingProblem(db, organizationId, agentId) : null
  return problem === null ? null : refuse('unprocessable_entity', problem.message, { path: 'agentId' })
}
