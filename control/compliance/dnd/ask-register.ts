import type { Deps } from '../../api/deps.js'
import type { Db } from '../../db/database.js'
import { istMidnight } from '../calling-hours.js'
import type { GateRequest } from '../check.js'
import { sandboxRegister, scrubRegister } from './register.js'

const DAY_MS = 86_400_000

/**
 * Asks the DND register about the called number and stores the answer until the IST day ends. It runs outside the
 * transaction of the gate: a register is another service. An answer `unknown` is not stored.
 */
export async function askRegister(
  { db }: Pick<Deps, 'db'>,
  organizationId: string,
  { to, environment }: GateRequest,
  now: number,
): Promise<void> {
  const register = environment === 'test' ? sandboxRegister : scrubRegister(db)
  const answer = await register.lookUp({ e164: to, at: now })
  if (answer.state === 'unknown') return
  const { state, category, reference } = answer
  const endOfDay = istMidnight(now) + DAY_MS
  const row = {
    state,
    category,
    reference,
    register: register.name,
    checkedAt: answer.checkedAt ?? now,
    validUntil: Math.min(answer.validUntil ?? endOfDay, endOfDay),
    costPaise: 0,
  }
  await db
    .insertInto('registerAnswers')
    .values({ organizationId, environment, e164: to, ...row })
    .onConflict((conflict) => conflict.columns(['organizationId', 'environment', 'e164']).doUpdateSet(row))
    .execute()
}

/** Deletes answers that count no longer. */
export async function sweepRegisterAnswers(db: Db, now: number): Promise<boolean> {
  await db.deleteFrom('registerAnswers').where('validUntil', '<', now).execute()
  return false
}
