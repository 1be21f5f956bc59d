import { istDate, istMidnight } from '../../compliance/calling-hours.js'
import type { Db, Trx } from '../../db/database.js'
import type { NumberRow } from '../../db/tables/calling.js'
import type { SipTrunkRow } from '../../db/tables/trunks.js'
import { queueMailToAdmins, queueMailToStaff } from '../../mail/outbox.js'

/*
 * Each number has a budget for the calls that the telephone system of its customer places in a day (IST). A thief of
 * its password cannot empty the wallet in a night. Customer and staff get a mail when a quarter of the budget goes
 * within an hour.
 */

const HOUR_MS = 3_600_000
const MINUTE_MS = 60_000
/** Share of the budget that causes a mail when it goes within one hour. */
const FAST_SHARE = 0.25
/** Maximum time (ms) before midnight at which a call may have begun that counts for the day. */
const LONGEST_CALL_MS = 2 * HOUR_MS

/** Undoes the transaction of a call that the budget does not allow. */
export class BudgetSpent extends Error {}

/**
 * Charges a call to the budget of its number, in the transaction that stores the call. Calls of one number take
 * turns, so that each sees the price of those before: ended calls, and calls in progress up to the end of their
 * current minute. Throws BudgetSpent when the budget does not cover a minute of the new call.
 */
export async function takeFromBudget(
  trx: Trx,
  { originationBudgetPaise: budget }: Pick<SipTrunkRow, 'originationBudgetPaise'>,
  number: NumberRow,
  ratePaise: number,
  now: number,
): Promise<void> {
  if (budget === null) return
  const day = istDate(now)
  // The row stays locked until the end of the transaction.
  await trx
    .insertInto('originationDays')
    .values({ numberId: number.id, day, calls: 1, fastAt: null, spentAt: null })
    .onConflict((conflict) =>
      conflict
        .columns(['numberId', 'day'])
        .doUpdateSet((eb) => ({ calls: eb('originationDays.calls', '+', 1) })),
    )
    .execute()
  const calls = await spending(trx, number, istMidnight(now), now)
  const spent = (since: number) =>
    calls
      .filter(({ endedAt }) => endedAt === null || endedAt > since)
      .reduce((sum, call) => sum + call.paise, 0)
  if (spent(istMidnight(now)) + ratePaise > budget) throw new BudgetSpent()
  if (spent(now - HOUR_MS) >= budget * FAST_SHARE) await alarm(trx, number, 'fast', now)
}

/** Tells customer and staff that the budget of a number is spent, once a day. */
export async function tellBudgetSpent(db: Db, number: NumberRow, now: number): Promise<void> {
  await db.transaction().execute((trx) => alarm(trx, number, 'spent', now))
}

/**
 * Returns the prices so far (paise) of the calls that a telephone system placed with a number and that were live
 * after midnight.
 */
async function spending(trx: Trx, number: NumberRow, midnight: number, now: number) {
  const rows = await trx
    .selectFrom('calls')
    .select(['billedPaise', 'ratePaisePerMinute', 'answeredAt', 'endedAt'])
    .where('organizationId', '=', number.organizationId)
    .where('environment', '=', number.environment)
    .where('numberId', '=', number.id)
    .where('direction', '=', 'outbound')
    .where('routingMode', '=', 'byo_sip')
    .where('createdAt', '>=', midnight - LONGEST_CALL_MS)
    .where((eb) => eb.or([eb('endedAt', 'is', null), eb('endedAt', '>=', midnight)]))
    .execute()
  return rows.map(({ billedPaise, ratePaisePerMinute, answeredAt, endedAt }) => {
    if (endedAt !== null) return { endedAt, paise: billedPaise }
    const minutes = answeredAt === null ? 1 : Math.floor(Math.max(0, now - answeredAt) / MINUTE_MS) + 1
    return { endedAt, paise: Math.max(billedPaise, minutes * ratePaisePerMinute) }
  })
}

async function alarm(trx: Trx, number: NumberRow, kind: 'fast' | 'spent', now: number): Promise<void> {
  const column = kind === 'fast' ? 'fastAt' : 'spentAt'
  const first = await trx
    .insertInto('originationDays')
    .values({ numberId: number.id, day: istDate(now), calls: 0, fastAt: null, spentAt: null, [column]: now })
    .onConflict((conflict) =>
      conflict
        .columns(['numberId', 'day'])
        .doUpdateSet({ [column]: now })
        .where(`originationDays.${column}`, 'is', null),
    )
    .returning('numberId')
    .executeTakeFirst()
  if (first === undefined) return
  const what =
    kind === 'fast'
      ? 'spends much of its daily budget within an hour'
      : 'has spent its budget for today, and places no more calls until midnight (IST)'
  const mail = {
    kind: 'notice',
    subject: `Calls of a telephone system: ${number.e164}`,
    text: `The telephone system of ${number.e164} ${what}. If these calls are not yours, change its password: bind the number again with POST /v1/numbers/${number.id}/sip. Ask us for a larger budget if you need one.`,
  } as const
  await queueMailToAdmins(trx, now, number.organizationId, mail)
  await queueMailToStaff(trx, now, mail)
}
