import { recorder } from '../api/audited.js'
import { type GatewayDispute, isClaim } from '../api/payment-gateway.js'
import type { Trx } from '../db/database.js'
import type { TopupRow } from '../db/tables/payments.js'
import { queueMailToAdmins } from '../mail/outbox.js'
import { freeze, freezeForDispute, lockWallet } from '../wallet/ledger.js'
import { debitRefund, documentRefund, type PaymentContext, refreshStatus } from './apply-payments.js'
import { keepException } from './exceptions.js'
import { isMoneyClaimed, lockTopup, taxOf } from './topup-store.js'

/** Hold on a wallet whose payment is disputed. It ends with the disputes. */
const DISPUTE_HOLD = 'payment_dispute'
/** Hold after a lost dispute. Staff ends it. */
const LOST_HOLD = 'payment_dispute_lost'

/** Order of the states. A dispute never goes back; one that comes back has a new id. */
const RANK: Readonly<Record<GatewayDispute['status'], number>> = {
  open: 0,
  under_review: 1,
  won: 2,
  lost: 2,
  closed: 2,
}

/**
 * Stores the state of a dispute. While it claims the money, the wallet is on hold. A lost dispute takes back what the gateway
 * took, as a refund does; the hold stays, and staff decides about it and about a credit note. A request for documents moves
 * nothing: staff hears if the gateway took money because of one. A report that is older than the stored state changes nothing.
 */
export async function applyDispute(
  trx: Trx,
  topupId: string,
  dispute: GatewayDispute,
  context: PaymentContext,
  now: number,
): Promise<void> {
  const topup = await lockTopup(trx, topupId, now)
  const { gateway, organizationId } = topup
  const { id: disputeId, phase, status, deductedPaise } = dispute
  const amountPaise = status === 'lost' ? deductedPaise : dispute.amountPaise
  const stored = await trx
    .selectFrom('topupDisputes')
    .selectAll()
    .where('gateway', '=', gateway)
    .where('disputeId', '=', disputeId)
    .executeTakeFirst()
  if (stored !== undefined && !isNews(stored, dispute)) return
  await trx
    .insertInto('topupDisputes')
    .values({ gateway, disputeId, topupId, phase, status, amountPaise, createdAt: now, updatedAt: now })
    .onConflict((conflict) =>
      conflict.columns(['gateway', 'disputeId']).doUpdateSet({ phase, status, amountPaise, updatedAt: now }),
    )
    .execute()
  if (isClaim(dispute)) await holdWallet(trx, topup, disputeId, DISPUTE_HOLD, now)
  if (status === 'lost') {
    const claimed = phase !== 'retrieval'
    if (claimed) {
      await holdWallet(trx, topup, disputeId, LOST_HOLD, now)
      if (!(await hasTaken(trx, gateway, disputeId)))
        await debitRefund(trx, topup, { id: disputeId, amountPaise, status: 'processed' }, context, now)
    }
    if (claimed || deductedPaise > 0) {
      const lost = {
        gateway,
        kind: 'dispute_lost',
        // The same dispute may still become a claim, about which staff decides again.
        subject: claimed ? disputeId : `${disputeId}:retrieval`,
        ...{ organizationId, topupId, amountPaise },
        details: { claimedPaise: dispute.amountPaise, phase },
      } as const
      await keepException(trx, lost, now, context.log)
    }
  }
  if (status === 'won' || status === 'closed') await releaseWallet(trx, organizationId, disputeId, now)
  await refreshStatus(trx, topupId, null, now)
}

/**
 * Issues the credit note of a lost dispute, as staff has decided. Returns `late` after the last day for credit notes, and
 * `nothing` if the dispute took no money.
 */
export async function creditLostDispute(
  trx: Trx,
  {
    gateway,
    disputeId,
    topupId,
  }: { readonly gateway: string; readonly disputeId: string; readonly topupId: string },
  context: Omit<PaymentContext, 'gateway'>,
  now: number,
): Promise<'issued' | 'late' | 'nothing'> {
  const topup = await lockTopup(trx, topupId, now)
  await lockWallet(trx, topup.organizationId, now)
  const taken = await trx
    .selectFrom('topupRefunds')
    .selectAll()
    .where('gateway', '=', gateway)
    .where('refundId', '=', disputeId)
    .executeTakeFirst()
  if (taken === undefined || taken.grossPaise === 0) return 'nothing'
  const amount = { taxablePaise: taken.taxablePaise, tax: taxOf(taken) }
  const inTime = await documentRefund(trx, topup, { refundId: disputeId }, amount, context, now)
  return inTime ? 'issued' : 'late'
}

/** A request for documents may become a claim with the same id. Otherwise only the status goes forward. */
function isNews(stored: Pick<GatewayDispute, 'phase' | 'status'>, dispute: GatewayDispute): boolean {
  const asked = stored.phase === 'retrieval'
  if (!asked && dispute.phase === 'retrieval') return false
  if (asked && dispute.phase !== 'retrieval') return true
  return RANK[dispute.status] > RANK[stored.status]
}

/** Returns whether a dispute has taken its money: older versions also took that of a lost request for documents. */
async function hasTaken(trx: Trx, gateway: string, disputeId: string): Promise<boolean> {
  const row = await trx
    .selectFrom('topupRefunds')
    .select('topupId')
    .where('gateway', '=', gateway)
    .where('refundId', '=', disputeId)
    .executeTakeFirst()
  return row !== undefined
}

async function holdWallet(
  trx: Trx,
  topup: TopupRow,
  disputeId: string,
  hold: typeof DISPUTE_HOLD | typeof LOST_HOLD,
  now: number,
): Promise<void> {
  const { organizationId } = topup
  const wallet = await lockWallet(trx, organizationId, now)
  if (wallet.disputeHold === LOST_HOLD) return
  await freezeForDispute(trx, organizationId, hold, now)
  if (wallet.onHold === 1) return
  await audit(trx, organizationId, true, disputeId, now)
  await queueMailToAdmins(trx, now, organizationId, {
    kind: 'notice',
    subject: 'Your wallet is on hold',
    text: `A bank disputes the payment ${topup.paymentId} of your top-up. No live call is placed until the dispute is decided.`,
  })
}

/** Ends the hold of disputes when none claims money of the organization any more. */
async function releaseWallet(
  trx: Trx,
  organizationId: string,
  disputeId: string,
  now: number,
): Promise<void> {
  const wallet = await lockWallet(trx, organizationId, now)
  if (wallet.disputeHold !== DISPUTE_HOLD || (await isMoneyClaimed(trx, organizationId))) return
  const { after } = await freezeForDispute(trx, organizationId, null, now)
  if (after.onHold === 0) await audit(trx, organizationId, false, disputeId, now)
}

/**
 * Ends a hold on a wallet because staff decided so: that of staff, else that of the disputes. After a lost dispute the
 * disputes that are still open go on holding. Returns the wallet before and after.
 */
export async function endHold(trx: Trx, organizationId: string, now: number) {
  const { holdReason, disputeHold } = await lockWallet(trx, organizationId, now)
  if (holdReason !== null) return freeze(trx, organizationId, null, now)
  const open = disputeHold === LOST_HOLD && (await isMoneyClaimed(trx, organizationId))
  return freezeForDispute(trx, organizationId, open ? DISPUTE_HOLD : null, now)
}

function audit(trx: Trx, organizationId: string, onHold: boolean, disputeId: string, now: number) {
  return recorder(trx, { organizationId, actor: null, requestId: null }, now)(
    'wallet.hold_set',
    organizationId,
    { reason: `Payment dispute ${disputeId}`, before: { onHold: !onHold }, after: { onHold } },
  )
}
