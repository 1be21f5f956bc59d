import { errorText } from '../../../media/base/errors.js'
import type { Deps } from '../../api/deps.js'
import { isRefusal } from '../../api/problem.js'
import { placeCall } from '../../calls/placement/place-call.js'
import { isUniqueViolation } from '../../db/constraint-error.js'
import type { CallbackRow } from '../../db/tables/campaigns.js'
import { AttemptLostError } from '../../recipients/attempts.js'
import { busyUntil } from '../../recipients/person.js'
import { refusedDial } from '../dial-outcome.js'
import { changeCallback, nextCallbacks, type Owner } from './store.js'

/** Time after the promised one in which a callback is still dialled (ms). */
const LATEST_MS = 24 * 3_600_000
/** Wait after an error or a limit (ms). */
const SOON_MS = 5_000
/** Callbacks that one look dials. */
const BATCH = 20

/**
 * Dials the callbacks of an owner that are due. One job per owner calls it, so that dials follow each other. Returns
 * the time at which the next callback is due (Unix ms), or null if none is left.
 */
export async function dialCallbacks(deps: Deps, owner: Owner): Promise<number | null> {
  const { db, clock } = deps
  for (const callback of await nextCallbacks(db, owner, BATCH)) {
    if (callback.dueAt > clock.wall()) break
    await dialCallback(deps, callback)
  }
  const [next] = await nextCallbacks(db, owner, 1)
  return next?.dueAt ?? null
}

async function dialCallback(deps: Deps, callback: CallbackRow): Promise<void> {
  const { db, clock, log } = deps
  const { id, e164, agentId, numberId } = callback
  if (clock.wall() > callback.promisedAt + LATEST_MS) return await refuseCallback(deps, callback, 'too_late')
  const person = { e164, campaignId: null, gapMs: 0 }
  const waits = await busyUntil(db, callback, person, clock.wall())
  if (waits !== null) return await moveCallback(deps, callback, waits, 'person_on_call')
  try {
    const call = await placeCall(deps, callback, {
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
        async bind(trx, resultCallId) {
          const change = { status: 'dialled', resultCallId, reason: null } as const
          if ((await changeCallback(trx, callback, id, change)) === null) throw new AttemptLostError(id)
        },
      },
    })
    if (!isRefusal(call)) return
    const now = clock.wall()
    const refused = refusedDial(call, now)
    if (refused.kind === 'retry') await moveCallback(deps, callback, now + SOON_MS, call.code)
    else if (refused.kind === 'defer') await moveCallback(deps, callback, refused.until, 'outside_window')
    else await refuseCallback(deps, callback, refused.reason)
  } catch (error) {
    // It was canceled meanwhile.
    if (error instanceof AttemptLostError) return
    // A campaign calls the person at this moment.
    if (!isUniqueViolation(error))
      log.warn({ callbackId: id, error: errorText(error) }, 'callback.dial_failed')
    await moveCallback(deps, callback, clock.wall() + SOON_MS, 'retry')
  }
}

/** Moves a callback to a later time, or refuses it if that is too late for the promise. */
async function moveCallback(
  deps: Deps,
  callback: CallbackRow,
  until: number | null,
  reason: string,
): Promise<void> {
  if (until === null || until > callback.promisedAt + LATEST_MS) {
    return await refuseCallback(deps, callback, reason)
  }
  await changeCallback(deps.db, callback, callback.id, { status: 'due', dueAt: until, reason })
}

async function refuseCallback({ db, log }: Deps, callback: CallbackRow, reason: string): Promise<void> {
  const refused = await changeCallback(db, callback, callback.id, { status: 'refused', reason })
  if (refused !== null) log.info({ callbackId: callback.id, reason }, 'callback.refused')
}
