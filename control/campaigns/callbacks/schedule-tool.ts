import type { ServiceAnswer } from '../../../media/agent/tools/service-tools.js'
import type { Clock } from '../../../media/base/clock.js'
import { newId } from '../../../media/base/ids.js'
import { INDIAN_NUMBER } from '../../compliance/bulk.js'
import type { Db } from '../../db/database.js'
import { wakeJob } from '../../jobs/wake.js'
import { diallerJob } from '../../recipients/dialler-job.js'
import { insertCallback, replaceCallbacks } from './store.js'

const LONGEST_MS = 30 * 24 * 3_600_000

/**
 * Returns the handler of the preset `schedule_callback` of agents. The last time that is promised on a call replaces
 * the earlier ones.
 */
export function scheduleCallbackTool({
  db,
  clock,
}: {
  readonly db: Db
  readonly clock: Pick<Clock, 'wall'>
}) {
  return async (
    callId: string,
    { at, note }: { readonly at: number; readonly note: string },
  ): Promise<ServiceAnswer> => {
    const now = clock.wall()
    if (at <= now || at > now + LONGEST_MS) return { status: 'refused', refusal: 'time_not_allowed' }
    const done = await db.transaction().execute(async (trx) => {
      const call = await trx
        .selectFrom('calls')
        .select(['organizationId', 'environment', 'direction', 'fromNumber', 'toNumber'])
        .select(['agentId', 'numberId', 'variables', 'answeredBy'])
        .where('id', '=', callId)
        .executeTakeFirst()
      if (call === undefined || call.agentId === null || call.answeredBy === 'voicemail') return false
      const e164 = call.direction === 'inbound' ? call.fromNumber : call.toNumber
      if (!INDIAN_NUMBER.test(e164)) return false
      const { organizationId, environment, agentId, numberId, variables } = call
      await replaceCallbacks(trx, call, callId)
      await insertCallback(trx, {
        id: newId('cbk', now),
        ...{ organizationId, environment, callId, agentId, numberId, e164, note, variables },
        dueAt: at,
        promisedAt: at,
        status: 'scheduled',
        resultCallId: null,
        reason: null,
        createdAt: now,
      })
      await wakeJob(trx, diallerJob(call), now)
      return true
    })
    return done ? { status: 'done' } : { status: 'refused', refusal: 'not_supported' }
  }
}
