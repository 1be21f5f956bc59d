import type { Clock } from '../../../media/base/clock.js'
import { errorText } from '../../../media/base/errors.js'
import type { Log } from '../../../media/base/log.js'
import { Scope } from '../../../media/base/scope.js'
import { STOPPED_BY_STAFF, WALLET_EXHAUSTED } from '../../../signalling/call/ending.js'
import type { CallControl } from '../../../signalling/call/ports.js'
import type { Db, Trx } from '../../db/database.js'
import { extendCallHolds } from '../../wallet/call-billing.js'
import { SLOT_LIFE_MS } from '../placement/call-slots.js'

/** Lifetime of a lease (ms). When a node has not renewed it, any other node settles the call. */
export const LEASE_MS = 60_000
const RENEW_MS = 15_000
/** Interval at which a node notes that it runs, with and without calls (ms). */
const PRESENCE_MS = 30_000
/** A node that has noted nothing for this time is not taken to be running (ms). */
const ABSENT_MS = 3 * PRESENCE_MS
/**
 * Begins the name under which a node notes that it runs. The heartbeats of its calls are apart: they are signs of life of
 * the calls, by which these are billed.
 */
const PRESENCE = 'presence:'
/** Interval of heartbeats, and longest delay of a hang-up that another node requested (ms). */
const LOOK_MS = 1_000

/** Returns whether another node than this one is running. */
export async function anotherNodeRuns(db: Db | Trx, nodeId: string, now: number): Promise<boolean> {
  const other = await db
    .selectFrom('nodeHeartbeats')
    .select('nodeId')
    .where('nodeId', 'like', `${PRESENCE}%`)
    .where('nodeId', '!=', `${PRESENCE}${nodeId}`)
    .where('aliveAt', '>', now - ABSENT_MS)
    .limit(1)
    .executeTakeFirst()
  return other !== undefined
}

export interface Leases {
  close(): Promise<void>
}

/**
 * Renews the leases of this node's live calls, stores a heartbeat every second, and carries out hang-ups that the database holds: those
 * requested through another node, by the kill switch of staff, or before the call was dialled. Keeps the holds on the wallet ahead of the calls and
 * ends the calls that a wallet does not cover any longer.
 */
export function openLeases(options: {
  readonly db: Db
  /** The database's clock, which all nodes share. */
  readonly clock: Clock
  readonly log: Log
  readonly nodeId: string
  readonly calls: Pick<CallControl, 'live' | 'hangUp' | 'finish'>
}): Leases {
  const { db, clock, log, nodeId, calls } = options
  const scope = new Scope()
  let renewedAt = clock.now()
  let leaseUntil = clock.wall() + LEASE_MS
  let notedAt = Number.NEGATIVE_INFINITY
  let running: Promise<void> = Promise.resolve()

  /** Stores the presence of the node when it is due, and the heartbeat of its calls if there are any. */
  async function beat(): Promise<void> {
    const now = clock.now()
    const due = now - notedAt >= PRESENCE_MS
    const names = [...(due ? [`${PRESENCE}${nodeId}`] : []), ...(calls.live > 0 ? [nodeId] : [])]
    if (names.length === 0) return
    const aliveAt = clock.wall()
    await db
      .insertInto('nodeHeartbeats')
      .values(names.map((name) => ({ nodeId: name, aliveAt })))
      .onConflict((conflict) => conflict.column('nodeId').doUpdateSet({ aliveAt }))
      .execute()
    if (due) notedAt = now
  }

  async function look(): Promise<void> {
    await beat()
    if (calls.live === 0) return
    if (clock.now() - renewedAt >= RENEW_MS) {
      const expired = clock.wall() >= leaseUntil
      const renewed = { leaseUntil: clock.wall() + LEASE_MS }
      await db
        .updateTable('calls')
        .set(renewed)
        .where('nodeId', '=', nodeId)
        .where('endedAt', 'is', null)
        .execute()
      if (expired) await hangUpLost()
      renewedAt = clock.now()
      leaseUntil = renewed.leaseUntil
    }
    const asked = await db
      .selectFrom('calls')
      .select(['id', 'hangupCause'])
      .where('nodeId', '=', nodeId)
      .where('endedAt', 'is', null)
      .where('hangupRequestedAt', 'is not', null)
      .execute()
    for (const { id, hangupCause } of asked) {
      // A call that staff stopped ends after its hang-up line. A request of the API ends the call at once.
      if (hangupCause === 'staff') calls.finish(id, null, STOPPED_BY_STAFF)
      else calls.hangUp(id, 'operator')
    }
    for (const id of await extendCallHolds(db, nodeId, clock.wall())) calls.finish(id, null, WALLET_EXHAUSTED)
  }

  /** Hangs up the calls that another node settled while this one, or its database, stood still. */
  async function hangUpLost(): Promise<void> {
    const ended = await db
      .selectFrom('calls')
      .select('id')
      .where('nodeId', '=', nodeId)
      .where('endedAt', 'is not', null)
      .where('createdAt', '>', clock.wall() - SLOT_LIFE_MS)
      .execute()
    const lost = ended.filter(({ id }) => calls.hangUp(id, 'engine')).length
    if (lost > 0) log.error({ calls: lost }, 'leases.calls_lost')
  }

  function again(): void {
    scope.after(clock, LOOK_MS, () => {
      running = look()
        .catch((error: unknown) => {
          log.warn({ error: errorText(error) }, 'leases.renew_failed')
        })
        .finally(() => {
          if (!scope.closed) again()
        })
    })
  }

  again()
  return {
    async close() {
      await scope.close()
      await running
    },
  }
}
