import type { Clock } from '../../media/base/clock.js'
import { istDate, istMidnight } from '../base/ist.js'
import { usePeriodOf } from '../billing/use-period.js'
import type { GstSetting } from '../config/payments.js'
import type { Db } from '../db/database.js'
import type { JobHandler } from '../jobs/runner.js'
import { addJobs } from '../jobs/store.js'
import { invoiceNextPeriod, organizationsWithVouchers } from './advances.js'

const KIND = 'use-invoices'
/** Time after a period at which its last calls have ended and are charged (ms). */
const AFTER_MS = 30 * 60_000

interface Options {
  readonly db: Db
  readonly clock: Pick<Clock, 'wall'>
  readonly gst: GstSetting
}

/** Adds the job that invoices what was used of receipt vouchers. It has nothing to do where there are none. */
export async function scheduleUseInvoices({ db, clock }: Options): Promise<void> {
  const now = clock.wall()
  await addJobs(db, [{ id: KIND, kind: KIND, dueAt: now }], now)
}

/** Returns the handler that invoices each period that is over, one in each transaction. It runs again after the next one. */
export function useInvoicesHandler({ db, clock, gst }: Options): JobHandler {
  return {
    kind: KIND,
    concurrency: 1,
    async run({ signal }) {
      const now = clock.wall()
      for (const organizationId of await organizationsWithVouchers(db)) {
        for (let more = true; more && !signal.aborted; ) {
          more = await db.transaction().execute((trx) => invoiceNextPeriod(trx, organizationId, gst, now))
        }
      }
      return async () => (signal.aborted ? now : istMidnight(usePeriodOf(istDate(now)).before) + AFTER_MS)
    },
  }
}
