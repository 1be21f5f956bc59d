import type { Db, Trx } from '../db/database.js'
import { DEFAULT_WINDOWS } from './calling-hours.js'
import type { GateFacts } from './gate.js'

/** Stored in every sealed record. Change it whenever a check or a window changes its meaning. */
export const POLICY_VERSION = '2026-1'

/** Reads the gate's facts about an organization. */
export async function gateFacts(db: Db | Trx, organizationId: string): Promise<GateFacts> {
  const profile = await db
    .selectFrom('callingProfiles')
    .select(['enforcedAt', 'enforcedReason', 'windowStartMinute', 'windowEndMinute'])
    .where('organizationId', '=', organizationId)
    .executeTakeFirst()
  const start = profile?.windowStartMinute ?? null
  const end = profile?.windowEndMinute ?? null
  return {
    policyVersion: POLICY_VERSION,
    windows: DEFAULT_WINDOWS,
    windowNarrowing: start === null || end === null ? null : { startMinute: start, endMinute: end },
    extraMobilePrefixes: [],
    enforcement: {
      blocked: (profile?.enforcedAt ?? null) !== null,
      reason: profile?.enforcedReason ?? null,
    },
  }
}

/**
 * Returns whether the operator has blocked the organization. Inbound calls, which have no gate, ask for it
 * too.
 */
export async function isCallingBlocked(db: Db | Trx, organizationId: string): Promise<boolean> {
  return (await gateFacts(db, organizationId)).enforcement.blocked
}
