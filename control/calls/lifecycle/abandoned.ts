import type { Clock } from '../../../media/base/clock.js'
import type { Log } from '../../../media/base/log.js'
import { filesIn } from '../../../media/recording/finish.js'
import type { PolicyInForce } from '../../config/policy-file.js'
import type { Db } from '../../db/database.js'
import type { JobHandler } from '../../jobs/runner.js'
import { addJobs } from '../../jobs/store.js'
import { LEASE_MS } from './leases.js'
import { recoverCallRecording, recoverPartRecordings } from './recover-recording.js'
import { type Ended, recordingPath, storeCallEvent } from './settle.js'

/*
 * Calls whose process died. A process settles its own at its start, and those of others once their leases expired.
 */

const KIND = 'abandoned-calls'
/** Time between two looks for expired leases (ms). */
const LOOK_MS = 15_000
/** Longer than the placement of a call lasts, from its slot to its row (ms). */
const PLACING_MS = 2 * LEASE_MS

interface Options {
  readonly db: Db
  /** The node that settles. */
  readonly nodeId: string
  /** Folder of the recordings. */
  readonly folder: string
  /** Time of the database (Unix ms). */
  readonly now: number
  readonly policy: PolicyInForce
}

/**
 * Ends the calls that this node left live when it stopped. Leaves out those in `owned`, because their events wait to
 * be stored. Run it before the node accepts new calls. Returns the number of calls.
 */
export async function settleAbandonedCalls(
  options: Options & { readonly owned: ReadonlySet<string> },
): Promise<number> {
  const { db, nodeId, owned } = options
  const live = await liveCalls(db).where('calls.nodeId', '=', nodeId).execute()
  const own = live.filter(({ id }) => !owned.has(id))
  await settle(options, own)
  // Releases slots of calls whose row was never made.
  await db
    .deleteFrom('callSlots')
    .where('nodeId', '=', nodeId)
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('calls')
            .select('calls.id')
            .whereRef('calls.id', '=', 'callSlots.callId')
            .where('endedAt', 'is', null),
        ),
      ),
    )
    .execute()
  return own.length
}

/**
 * Ends the calls whose leases expired: calls of other nodes, and calls of this node that it does not have in its
 * memory (`owned`). Calls in its memory go on, because their leases also expire while the database is away. Returns
 * the number of calls.
 */
export async function settleExpiredCalls(
  options: Options & { readonly owned: ReadonlySet<string> },
): Promise<number> {
  const { db, nodeId, now, owned } = options
  const expired = await liveCalls(db).where('leaseUntil', '<=', now).execute()
  const lost = expired.filter((call) => call.nodeId !== nodeId || !owned.has(call.id))
  await settle(
    options,
    // The heartbeat of this node is no sign of life of a call that it does not have.
    lost.map((call) => (call.nodeId === nodeId ? { ...call, aliveAt: null } : call)),
  )
  // Releases slots of calls whose row was never made.
  await db
    .deleteFrom('callSlots')
    .where('takenAt', '<=', now - PLACING_MS)
    .where(({ not, exists, selectFrom }) =>
      not(exists(selectFrom('calls').select('calls.id').whereRef('calls.id', '=', 'callSlots.callId'))),
    )
    .execute()
  return lost.length
}

/** Adds the job that settles calls with expired leases. One process at a time runs it. */
export async function scheduleExpiredCalls(db: Db, now: number): Promise<void> {
  await addJobs(db, [{ id: KIND, kind: KIND, dueAt: now }], now)
}

export function expiredCallsHandler(
  options: Omit<Options, 'now'> & {
    readonly clock: Clock
    readonly log: Log
    /** Ids of the calls that this process has in its memory. */
    readonly owned: () => ReadonlySet<string>
    /** Time for which this process has reached the database without a break (ms). */
    readonly contactMs: () => number
  },
): JobHandler {
  const { clock, log, owned, contactMs } = options
  return {
    kind: KIND,
    concurrency: 1,
    async run() {
      // After an outage of the database all leases have expired, and each node needs a moment to renew its own.
      if (contactMs() < LEASE_MS) return async () => clock.wall() + LOOK_MS
      const calls = await settleExpiredCalls({ ...options, now: clock.wall(), owned: owned() })
      if (calls > 0) log.warn({ calls }, 'calls.expired_settled')
      return async () => clock.wall() + LOOK_MS
    },
  }
}

function liveCalls(db: Db) {
  return db
    .selectFrom('calls')
    .leftJoin('nodeHeartbeats', 'nodeHeartbeats.nodeId', 'calls.nodeId')
    .select(['id', 'calls.nodeId', 'leaseUntil', 'answeredAt', 'createdAt', 'aliveAt'])
    .where('endedAt', 'is', null)
}

type LiveCall = Awaited<ReturnType<ReturnType<typeof liveCalls>['execute']>>[number]

async function settle({ db, folder, policy, now }: Options, calls: readonly LiveCall[]): Promise<void> {
  if (calls.length === 0) return
  const names = await filesIn(folder)
  // The INVITE may have been sent, although its event was not stored.
  await db
    .updateTable('calls')
    .set({ status: 'initiated' })
    .where('status', '=', 'queued')
    .where('sentAt', 'is not', null)
    .where(
      'id',
      'in',
      calls.map(({ id }) => id),
    )
    .execute()
  for (const call of calls) {
    const last = await db
      .selectFrom('callEvents')
      .select((column) => [column.fn.max('seq').as('seq'), column.fn.max('at').as('at')])
      .where('callId', '=', call.id)
      .executeTakeFirst()
    const path = recordingPath(folder, call.id)
    const recording = await recoverCallRecording(path, names)
    const parts = await recoverPartRecordings(path, call.id, names)
    // The last moment at which the call is known to have been live. Time after it is not billed. The
    // recording begins with the answer, and no two of its parts cover the same time.
    const recordedMs = [recording, ...parts].reduce((ms, file) => ms + (file?.durationMs ?? 0), 0)
    const lastFrameAt = Math.round((call.answeredAt ?? 0) + recordedMs)
    const signsOfLife = [Number(last?.at ?? 0), call.aliveAt ?? 0, call.leaseUntil - LEASE_MS, lastFrameAt]
    const at = Math.min(now, Math.max(call.createdAt, ...signsOfLife))
    const ended: Ended = {
      callId: call.id,
      seq: Number(last?.seq ?? -1) + 1,
      at,
      type: 'ended',
      ending: {
        by: 'engine',
        cause: 'internal',
        fault: 'ours',
        note: 'the service stopped while the call was live',
      },
      rtp: null,
      recording,
      ...(parts.length > 0 ? { parts } : {}),
    }
    await db.transaction().execute(async (trx) => {
      // A node that was only late has renewed its lease meanwhile.
      const held = await trx
        .updateTable('calls')
        .set({ leaseUntil: call.leaseUntil })
        .where('id', '=', call.id)
        .where('leaseUntil', '=', call.leaseUntil)
        .returning('id')
        .executeTakeFirst()
      if (held !== undefined) await storeCallEvent(trx, policy, ended)
    })
  }
}
