import { recorder } from '../api/audited.js'
import type { Deps } from '../api/deps.js'
import type { Trx } from '../db/database.js'
import type { NumberRow } from '../db/tables/calling.js'
import { insertEvent } from '../events/store.js'
import type { JobHandler } from '../jobs/runner.js'
import { addJobs } from '../jobs/store.js'
import { payRental } from '../wallet/rental.js'
import { giveBack } from './release.js'
import { renewalAfter } from './rental-dates.js'

/*
 * Monthly rental of live numbers. Each month is paid when it begins. While the wallet does not cover it, every run of
 * the job tries again, so that a top-up pays within minutes; after a week the number is released. A wallet that its own
 * check has halted releases no number: the month waits, and staff has a mail of the check.
 */

const KIND = 'number-rental'
const EVERY_MS = 5 * 60_000
const DAY_MS = 86_400_000
const GRACE_MS = 7 * DAY_MS
/** Shortest time between `number.renewal_due` and the release, if the event comes late. */
const NOTICE_MS = 3 * DAY_MS
const BATCH = 200

type RenewalDeps = Pick<Deps, 'db' | 'clock' | 'log'>

/** Adds the job that renews numbers. */
export async function scheduleRenewals(db: Deps['db'], now: number): Promise<void> {
  await addJobs(db, [{ id: KIND, kind: KIND, dueAt: now }], now)
}

export function renewalHandler(deps: RenewalDeps): JobHandler {
  return {
    kind: KIND,
    concurrency: 1,
    async run() {
      await renewNumbers(deps)
      return async () => deps.clock.wall() + EVERY_MS
    },
  }
}

/** Renews all numbers that are due. A number that is several months behind pays them one after the other. */
export async function renewNumbers({ db, clock, log }: RenewalDeps): Promise<void> {
  const now = clock.wall()
  for (let after = ''; ; ) {
    const due = await db
      .selectFrom('numbers')
      .selectAll()
      .where('nextRentalAt', '<=', now)
      .where('releasedAt', 'is', null)
      .where('status', '=', 'active')
      .where('environment', '=', 'live')
      .where('id', '>', after)
      .orderBy('id')
      .limit(BATCH)
      .execute()
    for (const number of due) {
      let outcome: RenewalOutcome = 'paid'
      while (outcome === 'paid') {
        outcome = await db.transaction().execute((trx) => renew(trx, number.id, now))
        if (outcome === 'halted') log.error({ numberId: number.id }, 'number.renewal_halted')
        else log.info({ numberId: number.id, outcome }, 'number.renewal')
      }
    }
    const last = due.at(-1)
    if (last === undefined || due.length < BATCH) return
    after = last.id
  }
}

/** `settled`: nothing is due. `halted`: the month waits until the wallet equals its ledger again. */
type RenewalOutcome = 'paid' | 'unpaid' | 'halted' | 'released' | 'settled'

async function renew(trx: Trx, id: string, now: number): Promise<RenewalOutcome> {
  // An update that changes nothing locks the row, so that two processes do not renew it together.
  const number = await trx
    .updateTable('numbers')
    .set((eb) => ({ nextRentalAt: eb.ref('nextRentalAt') }))
    .where('id', '=', id)
    .where('nextRentalAt', '<=', now)
    .where('releasedAt', 'is', null)
    .returningAll()
    .executeTakeFirst()
  if (number === undefined || number.nextRentalAt === null) return 'settled'
  const { organizationId, e164, nextRentalAt: startsAt, rentalPaise: amountPaise } = number
  const outcome = await payRental(trx, organizationId, { numberId: id, e164, startsAt, amountPaise }, now)
  if (outcome === 'paid') {
    const cycle = number.renewalCycle === 'calendar_month' ? 'calendar_month' : 'anniversary'
    // The next date counts from the due date, not from the payment.
    const nextRentalAt = renewalAfter(number.purchasedAt ?? startsAt, cycle, startsAt)
    await trx.updateTable('numbers').set({ nextRentalAt, releaseAt: null }).where('id', '=', id).execute()
    return 'paid'
  }
  if (outcome === 'halted') {
    // Its balance is in doubt, which is no fault of the customer: no release date stands meanwhile.
    if (number.releaseAt !== null) await setReleaseAt(null)
    return 'halted'
  }
  if (number.releaseAt !== null && now >= number.releaseAt) {
    await giveBack(trx, number, now)
    await report(trx, number, 'number.released', now)
    const record = recorder(trx, { organizationId, actor: null, requestId: null }, now)
    await record('number.released', id, { reason: 'rental unpaid' })
    return 'released'
  }
  if (number.releaseAt !== null) return 'unpaid'
  await setReleaseAt(Math.max(startsAt + GRACE_MS, now + NOTICE_MS))
  await report(trx, number, 'number.renewal_due', now)
  return 'unpaid'

  async function setReleaseAt(releaseAt: number | null): Promise<void> {
    await trx.updateTable('numbers').set({ releaseAt }).where('id', '=', id).execute()
  }
}

async function report(
  trx: Trx,
  { id, organizationId, environment }: NumberRow,
  type: 'number.renewal_due' | 'number.released',
  now: number,
): Promise<void> {
  await insertEvent(trx, { organizationId, environment, type, subjects: { number: id } }, now)
}
