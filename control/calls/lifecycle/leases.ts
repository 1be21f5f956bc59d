import type { Clock } from '../../../media/base/clock.js'
import { errorText } from '../../../media/base/errors.js'
import type { Log } from '../../../media/base/log.js'
import { Scope } from '../../../media/base/scope.js'
import type { CallControl } from '../../../signalling/call/ports.js'
import type { Db } from '../../db/database.js'

/** A call whose node has not renewed for this long is nobody's: a start-up may settle it. */
export const LEASE_MS = 60_000
const RENEW_MS = 15_000
/** How soon a hang-up asked for at another node takes effect, at most. */
const LOOK_MS = 2_000

export interface Leases {
  close(): Promise<void>
}

/**
 * Keeps this node's live calls its own: renews their lease and carries out hang-ups that another
 * node, or a moment in which the call was not yet dialled, left in the database.
 */
export function openLeases(options: {
  readonly db: Db
  readonly clock: Clock
  readonly log: Log
  readonly nodeId: string
  readonly calls: Pick<CallControl, 'live' | 'hangUp'>
}): Leases {
  const { db, clock, log, nodeId, calls } = options
  const scope = new Scope()
  let renewedAt = clock.now()
  let running: Promise<void> = Promise.resolve()

  async function look(): Promise<void> {
    if (calls.live === 0) return
    if (clock.now() - renewedAt >= RENEW_MS) {
      renewedAt = clock.now()
      await db
        .updateTable('calls')
        .set({ leaseUntil: clock.wall() + LEASE_MS })
        .where('nodeId', '=', nodeId)
        .where('endedAt', 'is', null)
        .execute()
    }
    const asked = await db
      .selectFrom('calls')
      .select('id')
      .where('nodeId', '=', nodeId)
      .where('endedAt', 'is', null)
      .where('hangupRequestedAt', 'is not', null)
      .execute()
    for (const { id } of asked) calls.hangUp(id, 'operator')
  }

  function again(): void {
    scope.after(clock, LOOK_MS, () => {
      running = look()
        .catch((error: unknown) => {
          log.warn({ error: errorText(error) }, 'leases of live calls not renewed; trying again')
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
