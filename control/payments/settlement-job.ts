import type { SettlementRow } from '../api/payment-gateway.js'
import { istDate, istMidnight } from '../base/ist.js'
import type { Trx } from '../db/database.js'
import type { JobHandler } from '../jobs/runner.js'
import { addJobs } from '../jobs/store.js'
import { addPolls, type CheckOptions, TOPUP_CHECK } from './check-job.js'
import { keepException, type PaymentException } from './exceptions.js'
import { findTopup, findTopupByPayment, updateTopup } from './topup-store.js'

const KIND = 'payment-settlement'
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** Time of the day (IST) at which the reports of the days before are complete. */
const REPORT_HOUR = 9
/** Reports are read again on the next days, because rows may be added late. */
const DAYS_READ = 3
/** Money arrives after two working days. With weekends and holidays, ten days are too long. */
const UNSETTLED_MS = 10 * DAY_MS
/** Older payments are history: the mail about them went out long ago. */
const UNSETTLED_LOOKED_MS = 60 * DAY_MS

/** Adds the daily comparison with the gateway's settlement report. */
export async function scheduleSettlements({ db, clock, payments }: CheckOptions): Promise<void> {
  const now = clock.wall()
  await addJobs(db, [{ id: `${KIND}:${payments.id}`, kind: KIND, lane: payments.id, dueAt: now }], now)
}

/**
 * Returns the handler that compares the settlement report of the last days with the ledger: each payment of the report
 * was credited, each refund and each dispute is known, a lost dispute took what was deducted, and each credited payment arrives.
 * Differences are kept for staff. It also reports that the gateway has stopped sending events, as Razorpay does after a day of failures.
 */
export function settlementHandler(options: CheckOptions): JobHandler {
  const { clock, payments, log } = options
  return {
    kind: KIND,
    concurrency: 1,
    async run({ lane }) {
      // Another gateway is configured now. Its own job does the work.
      if (lane !== payments.id) return async () => null
      const now = clock.wall()
      const rows: SettlementRow[] = []
      for (let ago = 1; ago <= DAYS_READ; ago++) {
        rows.push(...(await payments.readSettlement(istDate(now - ago * DAY_MS))))
      }
      return async (trx) => {
        for (const exception of await compare(trx, payments.id, rows, now)) {
          await keepException(trx, exception, now, log)
        }
        await addPolls(trx, payments.id, now)
        return istMidnight(istDate(now)) + DAY_MS + REPORT_HOUR * HOUR_MS
      }
    },
  }
}

/** Marks the payments that have arrived, and returns the differences. */
export async function compare(
  trx: Trx,
  gateway: string,
  rows: readonly SettlementRow[],
  now: number,
): Promise<readonly PaymentException[]> {
  const found: PaymentException[] = []
  for (const row of rows) {
    const { type, id, amountPaise, paymentId, disputeId, settlementId, receipt } = row
    const details = { settlementId, receipt }
    if (type === 'payment') {
      const topup = await findTopupByPayment(trx, gateway, id)
      if (topup === null) {
        found.push({ gateway, kind: 'uncredited_payment', subject: id, paymentId: id, amountPaise, details })
        if (receipt !== null) await checkAgain(trx, receipt, now)
        continue
      }
      const { organizationId, id: topupId, payablePaise } = topup
      if (amountPaise !== payablePaise) {
        found.push({
          ...{ gateway, kind: 'settlement_amount', subject: id, organizationId, topupId, amountPaise },
          details: { ...details, payablePaise },
        })
      }
      if (topup.settlementId === null && settlementId !== null)
        await updateTopup(trx, topupId, { settlementId })
    }
    if (type === 'refund') {
      const known = await trx
        .selectFrom('topupRefunds')
        .select('topupId')
        .where('gateway', '=', gateway)
        .where('refundId', '=', id)
        .executeTakeFirst()
      if (known !== undefined) continue
      const topup = paymentId === null ? null : await findTopupByPayment(trx, gateway, paymentId)
      // An automatic refund of a payment that was never credited concerns no balance.
      if (paymentId !== null && topup === null) continue
      found.push({ gateway, kind: 'unknown_refund', subject: id, amountPaise, details })
      if (topup !== null) await checkAgain(trx, topup.id, now)
    }
    if (type === 'adjustment') {
      const dispute = disputeId === null ? null : await findDispute(trx, gateway, disputeId)
      if (dispute === null) {
        found.push({ gateway, kind: 'unknown_adjustment', subject: id, amountPaise, details })
        continue
      }
      const { organizationId, topupId, status, amountPaise: deductedPaise } = dispute
      // Money that is deducted before the decision comes back with a dispute that is won.
      if (status === 'lost' && amountPaise > deductedPaise) {
        found.push({
          ...{ gateway, kind: 'settlement_amount', subject: id, organizationId, topupId, amountPaise },
          details: { ...details, disputeId, deductedPaise },
        })
      }
    }
  }
  return [...found, ...(await unsettled(trx, gateway, now)), ...(await silence(trx, gateway, now))]
}

async function findDispute(trx: Trx, gateway: string, disputeId: string) {
  const row = await trx
    .selectFrom('topupDisputes')
    .innerJoin('topups', 'topups.id', 'topupDisputes.topupId')
    .select(['topupDisputes.topupId', 'topupDisputes.status', 'topupDisputes.amountPaise'])
    .select('topups.organizationId')
    .where('topupDisputes.gateway', '=', gateway)
    .where('topupDisputes.disputeId', '=', disputeId)
    .executeTakeFirst()
  return row ?? null
}

async function checkAgain(trx: Trx, topupId: string, now: number): Promise<void> {
  if ((await findTopup(trx, topupId)) === null) return
  const job = {
    id: `${TOPUP_CHECK}:${topupId}:settlement`,
    kind: TOPUP_CHECK,
    lane: topupId,
    payload: 'once',
  }
  await addJobs(trx, [{ ...job, dueAt: now }], now)
}

/** Returns the credited payments whose money has not arrived after ten days. */
async function unsettled(trx: Trx, gateway: string, now: number): Promise<PaymentException[]> {
  const late = await trx
    .selectFrom('topups')
    .selectAll()
    .where('gateway', '=', gateway)
    .where('paidAt', '>', now - UNSETTLED_LOOKED_MS)
    .where('paidAt', '<=', now - UNSETTLED_MS)
    .where('settlementId', 'is', null)
    .where('status', 'in', ['paid', 'partially_refunded'])
    .execute()
  return late.map(({ id: topupId, organizationId, paymentId, payablePaise: amountPaise }) => ({
    ...{ gateway, kind: 'unsettled_payment', subject: topupId, organizationId, topupId, amountPaise },
    ...(paymentId === null ? {} : { paymentId }),
  }))
}

/** Reports that payments arrived on the last day, all without an event. */
async function silence(trx: Trx, gateway: string, now: number): Promise<PaymentException[]> {
  const paid = await trx
    .selectFrom('topups')
    .select(['id', 'notifiedAt'])
    .where('gateway', '=', gateway)
    .where('paidAt', '>', now - DAY_MS)
    // The event of a payment that has just been credited may still be on its way.
    .where('paidAt', '<=', now - HOUR_MS)
    .execute()
  if (paid.length === 0 || paid.some(({ notifiedAt }) => notifiedAt !== null)) return []
  return [{ gateway, kind: 'webhooks_stopped', subject: istDate(now), details: { payments: paid.length } }]
}
