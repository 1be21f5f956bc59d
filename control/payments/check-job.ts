import type { Clock } from '../../media/base/clock.js'
import type { Log } from '../../media/base/log.js'
import type { GatewayDispute, GatewayPayment, PaymentGateway } from '../api/payment-gateway.js'
import type { GstSetting } from '../config/payments.js'
import type { Db, Trx } from '../db/database.js'
import type { TopupRow } from '../db/tables/payments.js'
import type { JobHandler } from '../jobs/runner.js'
import { applyDispute } from './apply-dispute.js'
import { applyPayments, type PaymentContext } from './apply-payments.js'
import { findTopup } from './topup-store.js'

export const TOPUP_CHECK = 'topup-check'
const MINUTE_MS = 60_000
export const FIRST_CHECK_MS = 10 * MINUTE_MS
/** A bank may authorise a payment up to three days later. */
const CHECKED_MS = 4 * 24 * 60 * MINUTE_MS
const CONCURRENCY = 4

export interface CheckOptions {
  readonly db: Db
  readonly clock: Clock
  readonly log: Log
  readonly payments: PaymentGateway
  readonly gst: GstSetting
}

/**
 * Returns the handler that asks the gateway about a top-up and applies the answer. It runs after each event and each
 * return of a browser (payload `once`, or `dispute:<id>`), and by itself (`poll`) while the top-up has no final
 * state: every ten minutes, after two hours every hour, for four days.
 */
export function topupCheckHandler(options: CheckOptions): JobHandler {
  const { clock } = options
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
        return payload === 'poll' && topup !== null ? nextCheck(topup, clock.wall()) : null
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
    .where('status', 'in', ['open', 'under_review'])
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

/** What a gateway says about a top-up at one moment. */
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

/** Returns the time of the next check, or null when the top-up is final or too old. */
export function nextCheck(topup: Pick<TopupRow, 'status' | 'createdAt'>, now: number): number | null {
  const age = now - topup.createdAt
  const final = !['created', 'failed', 'expired'].includes(topup.status)
  if (final || age >= CHECKED_MS) return null
  return now + (age < 120 * MINUTE_MS ? FIRST_CHECK_MS : 60 * MINUTE_MS)
}
