import type { Db, Trx } from '../db/open.js'
import type { Owner } from '../numbers/store.js'

/** Calls running an agent of ours; calls bridged to a customer's bot have a pool of their own. */
export type Pool = 'agentCalls'

/** Limits when the operator set none. */
const DEFAULT_LIMIT = { test: 5, live: 10 } as const

/** A slot this old belongs to a call that cannot be live any more (contract 8). */
export const SLOT_LIFE_MS = 2 * 3_600_000

export interface Full {
  readonly inUse: number
  readonly limit: number
}

/**
 * Takes a free slot of the pool for a call, or tells how full it is. Slots are numbered rows: that
 * two calls cannot hold one number is the primary key's doing, whatever else runs at the same time.
 */
export async function takeSlot(
  db: Db,
  owner: Owner,
  holder: { readonly callId: string; readonly nodeId: string },
  now: number,
): Promise<Full | null> {
  const pool: Pool = 'agentCalls'
  const limit = await poolLimit(db, owner)
  const stale = now - SLOT_LIFE_MS
  const rows = await db
    .selectFrom('callSlots')
    .select(['slot', 'takenAt'])
    .where('organizationId', '=', owner.organizationId)
    .where('environment', '=', owner.environment)
    .where('pool', '=', pool)
    .execute()
  const busy = new Set(rows.filter((row) => row.takenAt > stale).map((row) => row.slot))
  if (busy.size < limit) {
    for (let slot = 1; slot <= limit; slot++) {
      if (busy.has(slot)) continue
      const taken = await db
        .insertInto('callSlots')
        .values({
          organizationId: owner.organizationId,
          environment: owner.environment,
          pool,
          slot,
          ...holder,
          takenAt: now,
        })
        .onConflict((conflict) =>
          conflict
            .columns(['organizationId', 'environment', 'pool', 'slot'])
            .doUpdateSet({ ...holder, takenAt: now })
            .where('callSlots.takenAt', '<=', stale),
        )
        .returning('slot')
        .executeTakeFirst()
      if (taken !== undefined) return null
      busy.add(slot)
    }
  }
  return { inUse: busy.size, limit }
}

/** Gives back what the call holds, if anything. */
export async function releaseSlot(db: Db | Trx, callId: string): Promise<void> {
  await db.deleteFrom('callSlots').where('callId', '=', callId).execute()
}

async function poolLimit(db: Db, owner: Owner): Promise<number> {
  const profile = await db
    .selectFrom('callingProfiles')
    .select(['agentCallsTest', 'agentCallsLive'])
    .where('organizationId', '=', owner.organizationId)
    .executeTakeFirst()
  const set = owner.environment === 'test' ? profile?.agentCallsTest : profile?.agentCallsLive
  return set ?? DEFAULT_LIMIT[owner.environment]
}
