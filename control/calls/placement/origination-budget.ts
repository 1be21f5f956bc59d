import { sql } from 'kysely'
import { istDate, istMidnight } from '../../compliance/calling-hours.js'
import { REGISTER_CAUSE } from '../../compliance/dnd/ask-register.js'
import type { Db, Trx } from '../../db/database.js'
import type { NumberRow } from '../../db/tables/calling.js'
import type { SipTrunkRow } from '../../db/tables/trunks.js'
import { queueMailToAdmins, queueMailToStaff } from '../../mail/outbox.js'

/*
 * Each number has a budget for the calls that the telephone system of its customer places in a day (IST). A thief of
 * its password cannot empty the wallet in a night. The prices of the calls and the fees of the DND register count.
 * Customer and staff get a mail when a quarter of the budget goes within an hour.
 */

const HOUR_MS = 3_600_000
const MINUTE_MS = 60_000
/** Share of the budget that causes a mail when it goes within one hour. */
const FAST_SHARE = 0.25
/** Maximum length of a call (ms). One that began earlier than this before midnight does not count for the new day. */
const LONGEST_CALL_MS = 2 * HOUR_MS

type Budget = Pick<SipTrunkRow, 'originationBudgetPaise'>

/** Undoes the transaction of a call that the budget does not allow. */
export class BudgetSpent extends Error {
  /** Run of the gate that may have paid a fee for the call. */
  readonly runId: string

  constructor(runId: string) {
    super('the budget of the number does not cover the call')
    this.runId = runId
  }
}

/**
 * Tells whether the budget of a number does not cover a minute of a new call. It locks nothing: a call that is refused
 * here pays no fee of the register, and `takeFromBudget` decides about the others.
 */
export async function isBudgetSpent(
  db: Db,
  { originationBudgetPaise: budget }: Budget,
  number: NumberRow,
  ratePaise: number,
  now: number,
): Promise<boolean> {
  if (budget === null) return false
  return spentSince(await spending(db, number, now), istMidnight(now)) + ratePaise > budget
}

/**
 * Charges a call to the budget of its number, in the transaction that stores the call and after its row. Calls of one
 * number take turns, so that each sees the price of those before: ended calls, and calls in progress up to the end of
 * their current minute. Throws BudgetSpent with the run of the gate if the budget does not cover the first minute.
 */
export async function takeFromBudget(
  trx: Trx,
  trunk: Budget,
  number: NumberRow,
  runId: string,
  now: number,
): Promise<void> {
  const { originationBudgetPaise: budget } = trunk
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
  const calls = await spending(trx, number, now)
  if (spentSince(calls, istMidnight(now)) > budget) throw new BudgetSpent(runId)
  await tellFast(trx, budget, calls, number, now)
}

/** Tells customer and staff if a number spends fast. The fee of a call that the gate refused may be the cause. */
export async function watchBudget(
  trx: Trx,
  { originationBudgetPaise: budget }: Budget,
  number: NumberRow,
  now: number,
): Promise<void> {
  if (budget !== null) await tellFast(trx, budget, await spending(trx, number, now), number, now)
}

/** Tells customer and staff, once a day, when a quarter of the budget went within the last hour. */
async function tellFast(
  trx: Trx,
  budget: number,
  calls: readonly Spending[],
  number: NumberRow,
  now: number,
): Promise<void> {
  if (spentSince(calls, now - HOUR_MS) >= budget * FAST_SHARE) await alarm(trx, number, 'fast', now)
}

/** Tells customer and staff that the budget of a number is spent, once a day. */
export async function tellBudgetSpent(db: Db, number: NumberRow, now: number): Promise<void> {
  await db.transaction().execute((trx) => alarm(trx, number, 'spent', now))
}

/** Price of a call so far and fee of its gate (paise). */
interface Spending {
  /** Unix ms. Null while the call is live. */
  readonly endedAt: number | null
  readonly paise: number
}

/** Returns the sum (paise) of the calls that were live after a time (Unix ms). */
function spentSince(calls: readonly Spending[], since: number): number {
  return calls
    .filter(({ endedAt }) => endedAt === null || endedAt > since)
    .reduce((sum, { paise }) => sum + paise, 0)
}

/** Returns the calls that a telephone system placed with a number and that were live after midnight. */
async function spending(db: Db | Trx, number: NumberRow, now: number): Promise<Spending[]> {
  const midnight = istMidnight(now)
  const rows = await db
    .selectFrom('calls')
    .leftJoin('ledgerEntries', (join) =>
      join
        .onRef('ledgerEntries.organizationId', '=', 'calls.organizationId')
        .on('ledgerEntries.cause', '=', sql<string>`${sql.lit(REGISTER_CAUSE)} || "calls"."complianceRunId"`),
    )
    .select(['calls.billedPaise', 'calls.ratePaisePerMinute', 'calls.answeredAt', 'calls.endedAt'])
    .select('ledgerEntries.amountPaise')
    .where('calls.organizationId', '=', number.organizationId)
    .where('calls.environment', '=', number.environment)
    .where('calls.numberId', '=', number.id)
    .where('calls.direction', '=', 'outbound')
    .where('calls.routingMode', '=', 'byo_sip')
    .where('calls.createdAt', '>=', midnight - LONGEST_CALL_MS)
    .where((eb) => eb.or([eb('calls.endedAt', 'is', null), eb('calls.endedAt', '>=', midnight)]))
    // A refused call without a fee costs nothing. A telephone system that repeats its calls leaves many of them.
    .where((eb) =>
      eb.or([
        eb('calls.endedAt', 'is', null),
        eb('calls.billedPaise', '>', 0),
        eb('calls.complianceRunId', 'is not', null),
      ]),
    )
    .execute()
  return rows.map(({ billedPaise, ratePaisePerMinute, answeredAt, endedAt, amountPaise }) => {
    const feePaise = -(amountPaise ?? 0)
    if (endedAt !== null) return { endedAt, paise: billedPaise + feePaise }
    const minutes = answeredAt === null ? 1 : Math.floor(Math.max(0, now - answeredAt) / MINUTE_MS) + 1
    return { endedAt, paise: Math.max(billedPaise, minutes * ratePaisePerMinute) + feePaise }
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
