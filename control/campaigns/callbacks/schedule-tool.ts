import type { ServiceAnswer } from '../../../media/agent/tools/service-tools.js'
import type { Clock } from '../../../media/base/clock.js'
import { newId } from '../../../media/base/ids.js'
import { INDIAN_NUMBER } from '../../compliance/bulk.js'
import type { Db } from '../../db/database.js'
import { wakeJob } from '../../jobs/wake.js'
import { diallerJob } from '../../recipients/dialler-job.js'
import { allowsUnproven, insertCallback, replaceCallbacks } from './store.js'

const LONGEST_MS = 30 * 24 * 3_600_000
const NOT_SUPPORTED: ServiceAnswer = { status: 'refused', refusal: 'not_supported' }
const TOO_MANY: ServiceAnswer = { status: 'refused', refusal: 'too_many_callbacks' }

/**
 * Returns the handler of the preset `schedule_callback` of agents. The last time that is promised on a call replaces
 * the earlier ones. The number of a call that came in is not proven: only few callbacks to it wait at a time.
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
    return await db.transaction().execute(async (trx): Promise<ServiceAnswer> => {
      const call = await trx
        .selectFrom('calls')
        .select(['organizationId', 'environment', 'direction', 'fromNumber', 'toNumber'])
        .select(['agentId', 'numberId', 'variables', 'answeredBy'])
        .where('id', '=', callId)
        .executeTakeFirst()
      if (call === undefined || call.agentId === null || call.answeredBy === 'voicemail') return NOT_SUPPORTED
      const e164 = call.direction === 'inbound' ? call.fromNumber : call.toNumber
      if (!INDIAN_NUMBER.test(e164)) return NOT_SUPPORTED
      const { organizationId, environment, agentId, numberId, variables } = call
      // The row of the job is locked, so that promises of two calls are counted one after the other.
      await wakeJob(trx, diallerJob(call), now)
      const inbound = call.direction === 'inbound'
      if (inbound && !(await allowsUnproven(trx, { ...call, callId, e164 }))) return TOO_MANY
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
      return { status: 'done' }
    })
  }
}
