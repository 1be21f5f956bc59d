import type { Clock } from '../../media/base/clock.js'
import type { Log } from '../../media/base/log.js'
import type { GatewayDispute, GatewayPayment, PaymentGateway } from '../api/payment-gateway.js'
import type { GstSetting } from '../config/payments.js'
import type { Db, Trx } from '../db/database.js'
import type { TopupRow } from '../db/tables/payments.js'
import type { JobHandler } from '../jobs/runner.js'
import { addJobs } from '../jobs/store.js'
import { applyDispute } from './apply-dispute.js'
import { applyPayments, type PaymentContext } from './apply-payments.js'
import { findTopup } from './topup-store.js'

export const TOPUP_CHECK = 'topup-check'
const MINUTE_MS = 60_000
export const FIRST_CHECK_MS = 10 * MINUTE_MS
/** A bank may authorise a payment up to three days later. */
const CHECKED_MS = 4 * 24 * 60 * MINUTE_MS
const CONCURRENCY = 4
/** States of a dispute that is not decided. */
const OPEN = ['open', 'under_review'] as const

export interface CheckOptions {
  readonly db: Db
  readonly clock: Clock
  readonly log: Log
  readonly payments: PaymentGateway
  readonly gst: GstSetting
}

/** Longest time between two questions about a refund that is pending or a dispute that is open. */
const LONGEST_MS = 24 * 60 * MINUTE_MS

/**
 * Returns the handler that asks the gateway about a top-up and applies the answer. It runs after each event and each
 * return of a browser (payload `once`, or `dispute:<id>`), and by itself (`poll`) while the top-up has no final
 * state: every ten minutes, after two hours every hour, for four days. It also polls while a refund is pending or a dispute
 * is open: the event that ends them may be lost.
 */
export function topupCheckHandler(options: CheckOptions): JobHandler {
  const { clock, payments } = options
  return {
    kind: TOPUP_CHECK,
    concurrency: CONCURRENCY,
    laneLimit: () => 1,
    async run({ lane, payload }) {
      const disputeId = payload.startsWith('dispute:') ? payload.slice('dispute:'.length) : null
      const apply = await readTopup(options, lane, disputeId)
      return async (trx) => {
        await apply(trx)
        const topup = await findTopup(trx, lane)
        if (topup === null) return null
        const now = clock.wall()
        const since = topup.gateway === payments.id ? await undecidedSince(trx, lane) : null
        const next = nextCheck(topup, since, now)
        if (payload === 'poll') return next
        if (since !== null && next !== null) await addPoll(trx, lane, next, now)
        return null
      }
    },
  }
}

/**
 * Reads the payments and the open disputes of a top-up, and a dispute that an event named. Returns the function that
 * applies them.
 */
export async function readTopup(
  { db, clock, log, payments, gst }: CheckOptions,
  topupId: string,
  disputeId: string | null,
): Promise<(trx: Trx) => Promise<void>> {
  const topup = await findTopup(db, topupId)
  // An order of another gateway can be asked about only while that gateway is configured.
  if (topup === null || topup.gatewayRef === null || topup.gateway !== payments.id) return async () => {}
  const found = await payments.readPayments(topup.gatewayRef)
  const open = await db
    .selectFrom('topupDisputes')
    .select('disputeId')
    .where('topupId', '=', topupId)
    .where('status', 'in', OPEN)
    .execute()
  const ids = new Set([...open.map((row) => row.disputeId), ...(disputeId === null ? [] : [disputeId])])
  const disputes: GatewayDispute[] = []
  for (const id of ids) {
    const dispute = await payments.readDispute(id)
    if (dispute !== null) disputes.push(dispute)
  }
  const context = { gateway: payments, gst, log }
  return (trx) => applyReport(trx, topupId, { payments: found, disputes }, context, clock.wall())
}

/** Report of a gateway about a top-up at one moment. */
export interface GatewayReport {
  readonly payments: readonly GatewayPayment[]
  readonly disputes: readonly GatewayDispute[]
}

/** Applies the payments of a top-up, and the disputes about the payment that was credited. */
export async function applyReport(
  trx: Trx,
  topupId: string,
  { payments, disputes }: GatewayReport,
  context: PaymentContext,
  now: number,
): Promise<void> {
  await applyPayments(trx, topupId, payments, context, now)
  const { paymentId } = (await findTopup(trx, topupId)) ?? { paymentId: null }
  for (const dispute of disputes) {
    if (dispute.paymentId === paymentId) await applyDispute(trx, topupId, dispute, context, now)
  }
}

/** Adds the job that polls a top-up, unless there is one. */
export async function addPoll(trx: Trx, topupId: string, dueAt: number, now: number): Promise<void> {
  const job = { id: `${TOPUP_CHECK}:${topupId}`, kind: TOPUP_CHECK, lane: topupId, payload: 'poll' }
  await addJobs(trx, [{ ...job, dueAt }], now)
}

/**
 * Adds the polls of all top-ups of a gateway with a refund that is pending or a dispute that is open. They have one, unless
 * another gateway was configured meanwhile, or an older version of the service has left none.
 */
export async function addPolls(trx: Trx, gateway: string, now: number): Promise<void> {
  const refunds = trx
    .selectFrom('topupRefunds')
    .select('topupId')
    .where('gateway', '=', gateway)
    .where('status', '=', 'pending')
  const disputes = trx
    .selectFrom('topupDisputes')
    .select('topupId')
    .where('gateway', '=', gateway)
    .where('status', 'in', OPEN)
  for (const { topupId } of await refunds.union(disputes).execute()) await addPoll(trx, topupId, now, now)
}

/** Returns when the service last heard of a refund that is pending or a dispute that is open (Unix ms), or null. */
async function undecidedSince(trx: Trx, topupId: string): Promise<number | null> {
  const refund = await trx
    .selectFrom('topupRefunds')
    .select((eb) => eb.fn.max('createdAt').as('at'))
    .where('topupId', '=', topupId)
    .where('status', '=', 'pending')
    .executeTakeFirst()
  const dispute = await trx
    .selectFrom('topupDisputes')
    .select((eb) => eb.fn.max('createdAt').as('at'))
    .where('topupId', '=', topupId)
    .where('status', 'in', OPEN)
    .executeTakeFirst()
  const times = [refund?.at, dispute?.at].filter((at) => typeof at === 'number')
  return times.length === 0 ? null : Math.max(...times)
}

/**
 * Returns the time of the next check, or null when the top-up is final or too old. `undecidedSince`: a refund or a dispute
 * waits for its decision. The intervals grow with this time, from ten minutes to a day.
 */
export function nextCheck(
  topup: Pick<TopupRow, 'status' | 'createdAt'>,
  undecidedSince: number | null,
  now: number,
): number | null {
  if (undecidedSince !== null) {
    return now + Math.min(LONGEST_MS, Math.max(FIRST_CHECK_MS, Math.floor((now - undecidedSince) / 4)))
  }
  const age = now - topup.createdAt
  const final = !['created', 'failed', 'expired'].includes(topup.status)
  if (final || age >= CHECKED_MS) return null
  return now + (age < 120 * MINUTE_MS ? FIRST_CHECK_MS : 60 * MINUTE_MS)
}
