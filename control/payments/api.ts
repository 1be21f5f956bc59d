import { createHash } from 'node:crypto'
import { buffer } from 'node:stream/consumers'
import { z } from 'zod'
import type { Deps } from '../api/deps.js'
import { operation, uploadOperation } from '../api/operation.js'
import { isRefusal, refuse } from '../api/problem.js'
import { BILLING_ROLES } from '../api/scopes.js'
import { idParam } from '../base/schemas.js'
import { keepException } from './exceptions.js'
import { razorpayScheme } from './razorpay/webhook.js'
import { checkSoon, MAX_TOPUP_PAISE, MIN_TOPUP_PAISE, startTopup } from './start-topup.js'
import { findOwnTopup, findTopupByOrder, updateTopup } from './topup-store.js'
import { Topup, topupView } from './view.js'

export const createTopup = operation({
  id: 'createTopup',
  method: 'post',
  path: '/v1/wallet/topups',
  tag: 'Wallet and limits',
  summary: 'Start a top-up',
  description:
    'Returns the page that leads to the payment. GST comes on top of the amount. Name, address and state must be among the billing details. Money is live in both environments of a session.',
  audience: 'session',
  roles: BILLING_ROLES,
  idempotent: 'accepted',
  body: z.strictObject({ amountPaise: z.int().min(MIN_TOPUP_PAISE).max(MAX_TOPUP_PAISE) }),
  status: 201,
  result: Topup,
  fails: ['billing_details_required', 'provider_unavailable', 'rate_limited'],
  run: async ({ body, actor, deps, keep }) => {
    const made = await startTopup(deps, actor, body.amountPaise, (trx, topup) =>
      keep(trx, topupView(deps, topup)),
    )
    return isRefusal(made) ? made : topupView(deps, made)
  },
})

export const readTopupOperation = operation({
  id: 'readTopup',
  method: 'get',
  path: '/v1/wallet/topups/:id',
  tag: 'Wallet and limits',
  summary: 'Get a top-up',
  description: 'A failed or expired top-up becomes paid when the bank takes the money late.',
  audience: 'session',
  params: z.object({ id: idParam('top') }),
  status: 200,
  result: Topup,
  fails: ['not_found'],
  run: async ({ params, actor, deps }) => {
    const topup = await findOwnTopup(deps.db, actor.organizationId, params.id)
    return topup === null ? refuse('not_found', 'The top-up does not exist.') : topupView(deps, topup)
  },
})

const MAX_EVENT_BYTES = 256 * 1024
/** Characters of an event that is kept because it was not understood. */
const KEPT_CHARACTERS = 4_000

export const receivePaymentEvent = uploadOperation({
  id: 'receivePaymentEvent',
  method: 'post',
  path: '/v1/payment-callbacks/:gateway',
  tag: 'Public',
  summary: 'Receive an event of a payment gateway',
  description:
    'The gateway signs its events as it documents. An event only says that something changed: the service then asks the gateway. An event that is not understood is kept for staff.',
  audience: 'signed',
  signature: ({ gateway }) => (gateway === 'razorpay' ? razorpayScheme : null),
  params: z.object({ gateway: z.enum(['razorpay']) }),
  accepts: ['application/json'],
  maxBytes: MAX_EVENT_BYTES,
  status: 200,
  result: z.object({ received: z.boolean() }),
  fails: [],
  run: async ({ body, deps, requestId }) => {
    await takeEvent(deps, await buffer(body.content), requestId)
    return { received: true }
  },
})

async function takeEvent(deps: Deps, body: Buffer, requestId: string): Promise<void> {
  const { db, clock, log, payments } = deps
  if (payments === null) return
  const notice = payments.readNotice(body)
  const type = notice?.type ?? null
  log.info({ gateway: payments.id, type }, 'payment.event')
  // A settlement is compared with the ledger once a day.
  if (type?.startsWith('settlement.') === true) return
  const orderRef = notice?.orderRef ?? null
  const topup = orderRef === null ? null : await findTopupByOrder(db, payments.id, orderRef)
  const now = clock.wall()
  if (topup === null) {
    const digest = createHash('sha256').update(body).digest('hex')
    const kept = { type, body: body.toString('utf8').slice(0, KEPT_CHARACTERS) }
    await db.transaction().execute((trx) =>
      keepException(
        trx,
        {
          gateway: payments.id,
          kind: orderRef === null ? 'unknown_event' : 'unknown_order',
          subject: orderRef ?? digest,
          details: kept,
        },
        now,
        log,
      ),
    )
    return
  }
  await db.transaction().execute((trx) => updateTopup(trx, topup.id, { notifiedAt: now }))
  const disputeId = notice?.disputeId ?? null
  await checkSoon(deps, topup.id, requestId, disputeId === null ? 'once' : `dispute:${disputeId}`)
}

export const paymentOperations = [createTopup, readTopupOperation, receivePaymentEvent]
