import type { Clock } from '../../../media/base/clock.js'
import { errorText } from '../../../media/base/errors.js'
import type { Log } from '../../../media/base/log.js'
import { Scope } from '../../../media/base/scope.js'
import type { CallId } from '../../../signalling/call/call-events.js'
import { STOPPED_BY_STAFF, WALLET_EXHAUSTED } from '../../../signalling/call/ending.js'
import type { CallControl } from '../../../signalling/call/ports.js'
import type { Db, OpenDatabase, Trx } from '../../db/database.js'
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
/** Time (ms) without an answer of the database after which the contact with it counts as broken. */
const CONTACT_GAP_MS = PRESENCE_MS + 15_000
/** Maximum number of leases that one statement renews. */
const RENEWED_AT_ONCE = 500
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
  /**
   * Time (ms) for which this process has reached the database without a break. After a break it cannot tell which
   * calls are lost: it did not see the others renew their leases.
   */
  readonly contactMs: number
  close(): Promise<void>
}

/**
 * Renews the leases of the calls that this process has in its memory, stores a heartbeat every second, and carries out
 * hang-ups that the database holds: those requested through another node, by the kill switch of staff, or before the call
 * was dialled. Keeps the holds on the wallet ahead of the calls, and ends a call when the money that is held for it is used up.
 */
export function openLeases(options: {
  readonly db: Db
  /**
   * State of the database. While it is not available, the presence is stored each second to find out whether it is
   * back.
   */
  readonly database?: Pick<OpenDatabase, 'available'>
  /** The database's clock, which all nodes share. */
  readonly clock: Clock
  readonly log: Log
  readonly nodeId: string
  readonly calls: Pick<CallControl, 'live' | 'liveCalls' | 'hangUp' | 'finish' | 'lastWordsMs'>
  /** Calls with events that are not stored yet. They may have ended already. */
  readonly unstored: () => Iterable<CallId>
}): Leases {
  const { db, database, clock, log, nodeId, calls, unstored } = options
  const scope = new Scope()
  let renewedAt = clock.now()
  let leaseUntil = clock.wall() + LEASE_MS
  let notedAt = Number.NEGATIVE_INFINITY
  let contactSince = clock.now()
  let seenAt = clock.now()
  let lostContact = false
  let running: Promise<void> = Promise.resolve()

  /** Stores the presence of the node when it is due, and the heartbeat of its calls if there are any. */
  async function beat(): Promise<void> {
    const now = clock.now()
    const due = now - notedAt >= PRESENCE_MS || database?.available === false
    const names = [...(due ? [`${PRESENCE}${nodeId}`] : []), ...(calls.live > 0 ? [nodeId] : [])]
    if (names.length === 0) return
    const aliveAt = clock.wall()
    await db
      .insertInto('nodeHeartbeats')
      .values(names.map((name) => ({ nodeId: name, aliveAt })))
      .onConflict((conflict) => conflict.column('nodeId').doUpdateSet({ aliveAt }))
      .execute()
    if (due) notedAt = now
    // From now on this process sees all that other nodes write.
    if (lostContact || clock.now() - seenAt > CONTACT_GAP_MS) contactSince = clock.now()
    lostContact = false
    seenAt = clock.now()
  }

  /** Renews the leases of these calls. The leases of calls whose end was lost expire. */
  async function renew(owned: readonly CallId[], leaseUntil: number): Promise<void> {
    for (let from = 0; from < owned.length; from += RENEWED_AT_ONCE) {
      await db
        .updateTable('calls')
        .set({ leaseUntil })
        .where('nodeId', '=', nodeId)
        .where('endedAt', 'is', null)
        .where('id', 'in', owned.slice(from, from + RENEWED_AT_ONCE))
        .execute()
    }
  }

  async function look(): Promise<void> {
    await beat()
    const owned = [...new Set([...calls.liveCalls(), ...unstored()])]
    if (owned.length > 0 && clock.now() - renewedAt >= RENEW_MS) {
      const expired = clock.wall() >= leaseUntil
      const until = clock.wall() + LEASE_MS
      await renew(owned, until)
      if (expired) await hangUpLost()
      renewedAt = clock.now()
      leaseUntil = until
    }
    if (calls.live === 0) return
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
    const exhausted = await extendCallHolds(db, nodeId, new Set(calls.liveCalls()), clock.wall())
    for (const { id, paidUntil } of exhausted) {
      const leftMs = paidUntil - calls.lastWordsMs(id) - clock.wall()
      // The next poll comes too late for this end. Polls before it check the wallet again, because it may be topped up.
      if (leftMs > LOOK_MS) continue
      scope.after(clock, Math.max(0, leftMs), () => calls.finish(id, null, WALLET_EXHAUSTED))
    }
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
          lostContact = true
          log.warn({ error: errorText(error) }, 'leases.renew_failed')
        })
        .finally(() => {
          if (!scope.closed) again()
        })
    })
  }

  again()
  return {
    get contactMs() {
      const now = clock.now()
      return lostContact || now - seenAt > CONTACT_GAP_MS ? 0 : now - contactSince
    },
    async close() {
      await scope.close()
      await running
    },
  }
}
