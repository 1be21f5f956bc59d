import { errorText } from '../../../media/base/errors.js'
import type { Deps } from '../../api/deps.js'
import { isRefusal } from '../../api/problem.js'
import { outboundRoute } from '../../calls/placement/outbound-route.js'
import { dialCall } from '../../calls/placement/place-call.js'
import { isUniqueViolation } from '../../db/constraint-error.js'
import type { CallbackRow } from '../../db/tables/campaigns.js'
import { findNumber } from '../../numbers/store.js'
import { AttemptLostError } from '../../recipients/attempts.js'
import { busyUntil } from '../../recipients/person.js'
import { routeOf, takeRouteTurn } from '../../recipients/route-pace.js'
import { refusedDial } from '../dial-outcome.js'
import { routeState } from '../route-state.js'
import { changeCallback, nextCallbacks, type Owner } from './store.js'

/** Time after the promised one in which a callback is still dialled (ms). */
const LATEST_MS = 24 * 3_600_000
/** Wait after an error or a limit (ms). */
const SOON_MS = 5_000
/** Callbacks that one look dials. */
const BATCH = 100

/**
 * Dials the callbacks of an owner that are due, at the pace of their routes. One job per owner calls it, so that dials
 * follow each other. Returns the time of the next look (Unix ms), or null if no callback is left.
 */
export async function dialCallbacks(deps: Deps, owner: Owner): Promise<number | null> {
  const { db, clock } = deps
  let lookAt: number | null = null
  const callbacks = await nextCallbacks(db, owner, BATCH)
  for (const callback of callbacks) {
    const again = callback.dueAt > clock.wall() ? callback.dueAt : await dialCallback(deps, callback)
    if (again !== null) lookAt = Math.min(lookAt ?? again, again)
    // Another one may have taken its place in the batch.
    else if (callbacks.length === BATCH) lookAt = clock.wall()
  }
  return lookAt
}

/** Dials a callback. Returns when it is looked at again (Unix ms), or null if it is not dialled any more. */
async function dialCallback(deps: Deps, callback: CallbackRow): Promise<number | null> {
  const { db, clock, log } = deps
  const { id, e164, agentId, numberId } = callback
  const isOpen = (now: number) => now <= callback.promisedAt + LATEST_MS
  if (!isOpen(clock.wall())) return await refuseCallback(deps, callback, 'too_late')
  const person = { e164, campaignId: null, gapMs: 0 }
  const waits = await busyUntil(db, callback, person, clock.wall())
  if (waits !== null) return await moveCallback(deps, callback, waits, 'person_on_call')
  try {
    const turnAt = await takeTurn(deps, callback)
    if (turnAt !== null) return turnAt
    const call = await dialCall(deps, callback, {
      to: e164,
      numberId,
      agentId,
      variables: JSON.parse(callback.variables),
      metadata: {},
      // `bind` allows one call. After a call that was not sent, the callback has another one.
      idempotencyId: null,
      origin: {
        trigger: 'callback',
        campaignId: null,
        recipientId: null,
        callbackId: id,
        agentVersion: null,
        isOpen,
        async bind(trx, resultCallId, now) {
          if (!isOpen(now)) throw new TooLateError()
          const change = { status: 'dialled', resultCallId, reason: null } as const
          if ((await changeCallback(trx, callback, id, change)) === null) throw new AttemptLostError(id)
        },
      },
    })
    if (!isRefusal(call)) return null
    const now = clock.wall()
    const refused = refusedDial(call, now)
    if (refused.kind === 'retry') return await moveCallback(deps, callback, now + SOON_MS, call.code)
    if (refused.kind === 'defer') return await moveCallback(deps, callback, refused.until, 'outside_window')
    return await refuseCallback(deps, callback, refused.reason)
  } catch (error) {
    // It was canceled meanwhile.
    if (error instanceof AttemptLostError) return null
    if (error instanceof TooLateError) return await refuseCallback(deps, callback, 'too_late')
    // A campaign calls the person at this moment.
    if (!isUniqueViolation(error))
      log.warn({ callbackId: id, error: errorText(error) }, 'callback.dial_failed')
    return await moveCallback(deps, callback, clock.wall() + SOON_MS, 'retry')
  }
}

/** The promised time of the callback ended while the call was made. The transaction is undone: there is no call. */
class TooLateError extends Error {}

/** Takes the next dial of the callback's route. Returns null, or the time at which the route is free (Unix ms). */
async function takeTurn(deps: Deps, callback: CallbackRow): Promise<number | null> {
  const { db, clock } = deps
  const number = await findNumber(db, callback, callback.numberId)
  const target = number === null ? null : await outboundRoute(deps, number)
  // The placement of the call names the problem of a number that cannot call.
  if (number === null || target === null || isRefusal(target)) return null
  const now = clock.wall()
  const { intervalMs, rate, nextDialAt } = await routeState(db, number, target.trunk, now)
  if (intervalMs === 0) return null
  if (nextDialAt > now) return nextDialAt
  const route = routeOf(number, target.trunk)
  const next = now + Math.ceil(intervalMs / rate)
  const taken = await db.transaction().execute((trx) => takeRouteTurn(trx, route, next, now))
  return taken ? null : now + SOON_MS
}

/** Moves a callback to a later time, or refuses it if that is too late for the promise. */
async function moveCallback(
  deps: Deps,
  callback: CallbackRow,
  until: number | null,
  reason: string,
): Promise<number | null> {
  if (until === null || until > callback.promisedAt + LATEST_MS) {
    return await refuseCallback(deps, callback, reason)
  }
  await changeCallback(deps.db, callback, callback.id, { status: 'due', dueAt: until, reason })
  return until
}

async function refuseCallback({ db, log }: Deps, callback: CallbackRow, reason: string): Promise<null> {
  const refused = await changeCallback(db, callback, callback.id, { status: 'refused', reason })
  if (refused !== null) log.info({ callbackId: callback.id, reason }, 'callback.refused')
  return null
}
