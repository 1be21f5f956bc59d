import { z } from 'zod'
import { EngineError } from '../../media/base/errors.js'
import { recorder } from '../api/audited.js'
import type { Deps } from '../api/deps.js'
import { listOperation, operation } from '../api/operation.js'
import { newestFirst } from '../api/pagination.js'
import type { PaymentGateway } from '../api/payment-gateway.js'
import { isRefusal, type Refusal, refuse } from '../api/problem.js'
import { idParam, openEnum, Timestamp, timestamp, timestampOrNull } from '../base/schemas.js'
import type { Db, Trx } from '../db/database.js'
import type { PaymentExceptionRow } from '../db/tables/payments.js'
import { creditLostDispute } from '../payments/apply-dispute.js'
import {
  claimException,
  type ExceptionDecision,
  findException,
  releaseException,
  resolveException,
  returnToEarlierClaim,
} from '../payments/exceptions.js'
import { gatewayUnavailable } from '../payments/start-topup.js'
import { findTopup } from '../payments/topup-store.js'
import { Reason } from './staff-action.js'

const RESOLUTIONS = ['refund', 'credit_note', 'dismiss'] as const

const PaymentException = z.object({
  id: z.string(),
  gateway: z.string(),
  kind: openEnum(
    ...['unknown_order', 'unknown_event', 'amount_mismatch', 'second_payment', 'refund_exceeds_balance'],
    ...['credit_note_late', 'dispute_lost', 'uncredited_payment', 'unknown_refund', 'unknown_adjustment'],
    ...['unsettled_payment', 'settlement_amount', 'webhooks_stopped'],
  ),
  subject: z.string().meta({ description: 'What it is about, for example the id of a payment.' }),
  organizationId: z.string().nullable(),
  topupId: z.string().nullable(),
  paymentId: z.string().nullable(),
  amountPaise: z.int().nullable(),
  details: z.record(z.string(), z.unknown()),
  createdAt: Timestamp,
  resolution: openEnum(...RESOLUTIONS).nullable(),
  reason: z.string().nullable(),
  resolvedBy: z.string().nullable(),
  resolvedAt: Timestamp.nullable(),
})

function exceptionView(stored: PaymentExceptionRow): z.input<typeof PaymentException> {
  const { attempts, attemptedAt, ...row } = stored
  return {
    ...row,
    details: JSON.parse(row.details) as Record<string, unknown>,
    createdAt: timestamp(row.createdAt),
    resolvedAt: timestampOrNull(row.resolvedAt),
  }
}

export const listPaymentExceptions = listOperation({
  id: 'listPaymentExceptions',
  path: '/v1/staff/payment-exceptions',
  tag: 'Staff',
  summary: 'List payments that need a decision',
  description:
    'Payments, refunds and disputes that no rule decides, and differences from the settlement report.',
  audience: 'staff',
  query: z.object({ resolved: z.enum(['true', 'false']).optional() }),
  result: PaymentException,
  fails: [],
  run: async ({ query, deps, page }) => {
    let rows = deps.db.selectFrom('paymentExceptions').selectAll()
    if (query.resolved !== undefined) {
      rows = rows.where('resolvedAt', query.resolved === 'true' ? 'is not' : 'is', null)
    }
    const { items, next } = await newestFirst(rows, page)
    return { items: items.map(exceptionView), next }
  },
})

export const resolvePaymentException = operation({
  id: 'resolvePaymentException',
  method: 'post',
  path: '/v1/staff/payment-exceptions/:id/resolve',
  tag: 'Staff',
  summary: 'Resolve a payment that needs a decision',
  description:
    'With `refund`, a payment that was not credited goes back through the gateway. With `credit_note`, the tax of a lost dispute is credited. With `dismiss`, only the decision is recorded. The audit log of the organization holds the decision.',
  audience: 'staff',
  params: z.object({ id: idParam('pex') }),
  body: z.strictObject({ resolution: z.enum(RESOLUTIONS), reason: Reason }),
  status: 200,
  result: PaymentException,
  fails: ['not_found', 'conflict', 'provider_unavailable', 'provider_rejected'],
  run: async ({ params, body, actor, deps, requestId }) => {
    const { db, clock } = deps
    const found = await findException(db, params.id)
    if (found === null) return refuse('not_found', 'The exception does not exist.')
    if (found.resolvedAt !== null) return decidedBefore()
    const decision = { ...body, resolvedBy: actor.userId }
    if (body.resolution === 'refund') {
      const refused = await refundPayment(deps, found, decision)
      if (refused !== null) return refused
    }
    const now = clock.wall()
    const outcome = await db.transaction().execute(async (trx) => {
      if (body.resolution === 'credit_note') {
        const refused = await creditDispute(trx, deps, found, now)
        if (refused !== null) return refused
      }
      if (!(await resolveException(trx, found.id, decision, now))) {
        return decidedBefore()
      }
      const { organizationId } = found
      if (organizationId !== null) {
        const { reason, resolution } = body
        const record = recorder(trx, { organizationId, actor, requestId }, now)
        const fields = { subject: 'payment_exception', reason, after: { resolution } }
        await record('staff.payment_exception_resolved', found.id, fields)
      }
      return (await findException(trx, found.id)) ?? refuse('not_found', 'The exception does not exist.')
    })
    return isRefusal(outcome) ? outcome : exceptionView(outcome)
  },
})

/** Issues the credit note of a lost dispute. Null on success. */
async function creditDispute(
  trx: Trx,
  { settings, log }: Deps,
  { gateway, kind, subject, topupId }: PaymentExceptionRow,
  now: number,
): Promise<Refusal<'conflict'> | null> {
  if (kind !== 'dispute_lost' || topupId === null) {
    return refuse('conflict', 'Only exceptions of the kind dispute_lost get a credit note.', { kind })
  }
  const context = { gst: settings.gst, log }
  const outcome = await creditLostDispute(trx, { gateway, disputeId: subject, topupId }, context, now)
  if (outcome === 'issued') return null
  return outcome === 'late'
    ? refuse('conflict', 'The deadline for a credit note has passed; the tax can no longer be reduced.')
    : refuse('conflict', 'The dispute took no money from the wallet, so that nothing is credited.')
}

const REFUNDABLE: readonly string[] = ['amount_mismatch', 'second_payment']

const decidedBefore = () =>
  refuse('conflict', 'The exception was resolved before, or a refund of it is in progress.')

/** Time (ms) after which the gateway has finished any request for a refund. */
const SETTLED_MS = 3_600_000

/**
 * Refunds a payment that was never credited. Claims the exception first, and keeps the claim while the outcome is
 * unknown. The refund can be repeated then, because the id of the exception is its idempotency key. The rejection of a
 * repetition does not tell whether an earlier attempt succeeded, so this reads the refunds of the payment from the
 * gateway. Returns null on success.
 */
async function refundPayment(
  { db, clock, payments, log }: Deps,
  exception: PaymentExceptionRow,
  decision: ExceptionDecision,
): Promise<Refusal<'conflict' | 'provider_unavailable' | 'provider_rejected'> | null> {
  const { id, gateway, kind, paymentId, amountPaise } = exception
  if (paymentId === null || amountPaise === null || !REFUNDABLE.includes(kind)) {
    return refuse('conflict', `Only exceptions of the kinds ${REFUNDABLE.join(' and ')} can be refunded.`, {
      kind,
    })
  }
  if (payments?.id !== gateway) {
    return gatewayUnavailable(`The gateway ${gateway} is not configured.`, gateway)
  }
  const now = clock.wall()
  const claim = await claimException(db, id, decision, now)
  if (claim === null) return decidedBefore()
  try {
    await payments.refund({ paymentId, amountPaise, key: id })
    log.info({ exceptionId: id, gateway }, 'payment.refunded')
    return null
  } catch (error) {
    if (!(error instanceof EngineError) || !error.code.startsWith('vendor_')) throw error
    if (error.code !== 'vendor_rejected') return gatewayUnavailable(`${error.message}.`, gateway)
    const details = { provider: gateway, reason: error.message }
    if (claim.earlierAt !== null) {
      await returnToEarlierClaim(db, id, claim)
      const refunded = await isRefunded(payments, db, exception)
      if (refunded === null) {
        return gatewayUnavailable(`${error.message}. The refunds of the payment cannot be read now.`, gateway)
      }
      if (refunded) {
        log.info({ exceptionId: id, gateway }, 'payment.refunded')
        return null
      }
      if (now - claim.earlierAt < SETTLED_MS) {
        const text = `${error.message}. An earlier attempt may still succeed. Repeat the refund in an hour.`
        return refuse('provider_rejected', text, details)
      }
    }
    await releaseException(db, id, claim)
    return refuse('provider_rejected', `${error.message}.`, details)
  }
}

/** Tells whether the gateway shows refunds of the whole payment. Returns null if they cannot be read. */
async function isRefunded(
  payments: PaymentGateway,
  db: Db,
  { topupId, paymentId, amountPaise }: PaymentExceptionRow,
): Promise<boolean | null> {
  const topup = topupId === null ? null : await findTopup(db, topupId)
  if (topup === null || topup.gatewayRef === null || amountPaise === null) return null
  try {
    const payment = (await payments.readPayments(topup.gatewayRef)).find(({ id }) => id === paymentId)
    if (payment === undefined) return null
    const standing = payment.refunds.filter(({ status }) => status !== 'failed')
    return standing.reduce((sum, refund) => sum + refund.amountPaise, 0) >= amountPaise
  } catch (error) {
    if (error instanceof EngineError && error.code.startsWith('vendor_')) return null
    throw error
  }
}

export const staffPaymentOperations = [listPaymentExceptions, resolvePaymentException]
