import type { Clock } from '../../../media/base/clock.js'
import type { Db, Trx } from '../../db/database.js'
import type { JobHandler } from '../../jobs/runner.js'
import { addJobs } from '../../jobs/store.js'

/*
 * The kill switch of staff asks for the end of the calls in progress in a job. The job is stored with the switch, so that
 * no death of a process comes between the two; and it holds no lock of several calls at once.
 */

const KIND = 'staff-hangups'
/** A call that the gate allowed just before the switch may be stored after it: the job looks again after this time (ms). */
const LOOK_AGAIN_MS = 5_000

interface Payload {
  readonly organizationId: string
  /** Unix ms of the switch. */
  readonly at: number
}

/** Ends the calls in progress of an organization, with last words. Call it in the transaction that stops its calls. */
export async function endCallsOf(
  trx: Trx,
  { organizationId, requestId }: { readonly organizationId: string; readonly requestId: string },
  at: number,
): Promise<void> {
  const payload: Payload = { organizationId, at }
  const job = { id: `${KIND}:${requestId}`, kind: KIND, lane: organizationId, dueAt: at }
  await addJobs(trx, [{ ...job, payload: JSON.stringify(payload) }], at)
}

export function staffHangupsHandler({
  db,
  clock,
}: {
  readonly db: Db
  readonly clock: Pick<Clock, 'wall'>
}): JobHandler {
  return {
    kind: KIND,
    concurrency: 4,
    async run({ payload, signal }) {
      const { organizationId, at } = JSON.parse(payload) as Payload
      const now = clock.wall()
      for (const id of await callsToEnd(db, organizationId, at)) {
        if (signal.aborted) return async () => now
        await requestEnd(db, id, now)
      }
      return async () => (now < at + LOOK_AGAIN_MS ? at + LOOK_AGAIN_MS : null)
    },
  }
}

/** Returns the calls in progress that began before the switch. While it stands there are no others. */
async function callsToEnd(db: Db, organizationId: string, at: number): Promise<readonly string[]> {
  const calls = await db
    .selectFrom('calls')
    .leftJoin('callingProfiles', 'callingProfiles.organizationId', 'calls.organizationId')
    .select('calls.id')
    .where('calls.organizationId', '=', organizationId)
    .where('calls.endedAt', 'is', null)
    .where('calls.hangupRequestedAt', 'is', null)
    .where((eb) => eb.or([eb('calls.createdAt', '<=', at), eb('callingProfiles.enforcedAt', '<=', at)]))
    .execute()
  return calls.map(({ id }) => id)
}

/** Asks the node that runs a call to end it with last words (leases.ts). A request of the API is left as it is. */
async function requestEnd(db: Db, id: string, now: number): Promise<void> {
  await db
    .updateTable('calls')
    .set({ hangupRequestedAt: now, hangupCause: 'staff' })
    .where('id', '=', id)
    .where('endedAt', 'is', null)
    .where('hangupRequestedAt', 'is', null)
    .execute()
}
