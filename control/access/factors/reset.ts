import type { Clock } from '../../../media/base/clock.js'
import type { Db } from '../../db/database.js'
import { findUserByEmail } from '../accounts/store.js'
import { endUserSessions } from '../sessions/sessions.js'
import { recordAccountEvent } from './account-events.js'
import { mailAccount } from './proof.js'
import { deleteRecoveryCodes } from './recovery-codes.js'
import { deleteFactors, lockAccount } from './store.js'

/**
 * Removes all second factors and recovery codes of an account in the name of the operator, and ends its sessions. Returns
 * the number of factors, or null if the address has no account.
 */
export async function resetFactors(
  { db, clock }: { readonly db: Db; readonly clock: Clock },
  email: string,
): Promise<number | null> {
  const user = await findUserByEmail(db, email)
  if (user === undefined) return null
  // An account whose address was not confirmed has no factors. Events would keep it from being removed some days
  // later.
  if (user.emailVerifiedAt === null) return 0
  const now = clock.wall()
  const userId = user.id
  return db.transaction().execute(async (trx) => {
    await lockAccount(trx, userId)
    const removed = await deleteFactors(trx, userId)
    await deleteRecoveryCodes(trx, userId)
    await endUserSessions(trx, userId, null)
    const event = { userId, action: 'second_factors.reset', byOperator: true, requestId: null } as const
    await recordAccountEvent(trx, event, now)
    await mailAccount(trx, userId, 'reset', now)
    return removed
  })
}
