import { newId } from '../../media/base/ids.js'
import type { Offer, OwnedNumber } from '../carriers/carrier.js'
import { totalPaise } from '../carriers/directory.js'
import type { Db, Trx } from '../db/database.js'
import type { NumberPurchaseRow, NumberRow } from '../db/tables/calling.js'
import { addJobs } from '../jobs/store.js'
import { hold, post, releaseHold } from '../wallet/ledger.js'
import { postRental } from '../wallet/rental.js'
import { renewalAfter } from './rental-dates.js'
import type { Owner } from './store.js'

export const PURCHASE_JOB = 'number-purchase'
export const ROUTE_JOB = 'number-route'
/** Time until the job looks at a purchase that is not settled yet (ms). */
const FIRST_LOOK_MS = 5_000

/** A number that is being bought, and how far that is. */
export interface Purchase {
  readonly number: NumberRow
  readonly purchase: NumberPurchaseRow
}

/** Returns the purchase of a number, or null. For background work, which belongs to no caller. */
export function findPurchase(db: Db | Trx, numberId: string): Promise<Purchase | null> {
  return readPurchase(db, db.selectFrom('numberPurchases').selectAll().where('numberId', '=', numberId))
}

/** Returns the purchase that an idempotent request of the owner began, or null. */
export function findBegunPurchase(
  db: Db | Trx,
  { organizationId, environment }: Owner,
  idempotencyId: string,
): Promise<Purchase | null> {
  return readPurchase(
    db,
    db
      .selectFrom('numberPurchases')
      .selectAll()
      .where('organizationId', '=', organizationId)
      .where('environment', '=', environment)
      .where('idempotencyId', '=', idempotencyId),
  )
}

async function readPurchase(
  db: Db | Trx,
  query: { executeTakeFirst(): Promise<NumberPurchaseRow | undefined> },
): Promise<Purchase | null> {
  const purchase = await query.executeTakeFirst()
  if (purchase === undefined) return null
  const { numberId } = purchase
  const number = await db
    .selectFrom('numbers')
    .selectAll()
    .where('id', '=', numberId)
    .executeTakeFirstOrThrow()
  return { number, purchase }
}

export interface NewPurchase {
  readonly owner: Owner
  readonly offer: Offer
  readonly label: string
  readonly agentId: string | null
  readonly idempotencyId: string
}

/**
 * Sets the money aside and inserts the pending number with the job that settles it. `taken`: the number is
 * sold already; `unpaid`: the wallet does not cover it.
 */
export async function beginPurchase(
  trx: Trx,
  { owner, offer, label, agentId, idempotencyId }: NewPurchase,
  now: number,
): Promise<Purchase | 'taken' | 'unpaid'> {
  const { organizationId, environment } = owner
  const id = newId('num', now)
  const { e164, provider, region, numberType, rentalPaise, setupPaise, renewalCycle } = offer
  const total = totalPaise(offer)
  const number = await trx
    .insertInto('numbers')
    .values({
      ...{ id, organizationId, environment, e164, label, provider, region, numberType, agentId },
      ...{ rentalPaise, setupPaise, renewalCycle },
      series: 'regular',
      nextRentalAt: null,
      purchasedAt: null,
      releaseAt: null,
      releasedAt: null,
      status: 'pending',
      inbound: 'pending',
      routingMode: 'svc_agent',
      byoFallback: 'hangup',
      recordCalls: 1,
      mediaEndpoint: null,
      createdAt: now,
    })
    .onConflict((conflict) => conflict.doNothing())
    .returningAll()
    .executeTakeFirst()
  if (number === undefined) return 'taken'
  if (environment === 'live' && total > 0) {
    if (!(await hold(trx, organizationId, { type: 'number', id }, total, now))) return 'unpaid'
  }
  const purchase = await trx
    .insertInto('numberPurchases')
    .values({
      ...{ numberId: id, organizationId, environment, idempotencyId, totalPaise: total, createdAt: now },
      askedAt: null,
      failureCode: null,
      failureReason: null,
    })
    .returningAll()
    .executeTakeFirstOrThrow()
  const dueAt = now + FIRST_LOOK_MS
  await addJobs(trx, [{ id: `${PURCHASE_JOB}:${id}`, kind: PURCHASE_JOB, dueAt, payload: id }], now)
  return { number, purchase }
}

/** Takes the only right to ask the carrier to sell. Returns false if it was taken before. */
export async function takeRightToAsk(db: Db | Trx, numberId: string, now: number): Promise<boolean> {
  const row = await db
    .updateTable('numberPurchases')
    .set({ askedAt: now })
    .where('numberId', '=', numberId)
    .where('askedAt', 'is', null)
    .returning('numberId')
    .executeTakeFirst()
  return row !== undefined
}

/** Notes that the carrier took the order and waits for documents. Does nothing if the purchase is settled. */
export async function noteOrder(
  db: Db,
  numberId: string,
  { code, reason }: { readonly code: string; readonly reason: string },
): Promise<void> {
  await db
    .updateTable('numberPurchases')
    .set({ failureCode: code, failureReason: reason })
    .where('numberId', '=', numberId)
    .where('failureCode', 'is', null)
    .execute()
}

/** Adds the job that routes the calls of a number until that succeeds. */
export async function addRouteJob(trx: Trx, numberId: string, dueAt: number, now: number): Promise<void> {
  await addJobs(trx, [{ id: `${ROUTE_JOB}:${numberId}`, kind: ROUTE_JOB, dueAt, payload: numberId }], now)
}

/** Turns a pending number into an active one and its hold into charges. Does nothing if it is not pending. */
export async function activate(
  trx: Trx,
  { number }: Purchase,
  { carrierNumberId }: OwnedNumber,
  now: number,
): Promise<boolean> {
  const { id, organizationId, environment, setupPaise, rentalPaise, e164 } = number
  const cycle = number.renewalCycle === 'calendar_month' ? 'calendar_month' : 'anniversary'
  const row = await trx
    .updateTable('numbers')
    .set({
      status: 'active',
      purchasedAt: now,
      nextRentalAt: renewalAfter(now, cycle, now),
      carrierNumberId,
    })
    .where('id', '=', id)
    .where('status', '=', 'pending')
    .returning('id')
    .executeTakeFirst()
  if (row === undefined) return false
  await addRouteJob(trx, id, now, now)
  if (environment === 'test') return true
  const reference = { type: 'number', id }
  await releaseHold(trx, organizationId, reference, now)
  if (setupPaise > 0) {
    const posting = {
      type: 'number_setup',
      amountPaise: -setupPaise,
      cause: `number:${id}:setup`,
      description: `Set-up of ${e164}`,
      reference,
    } as const
    await post(trx, organizationId, posting, now)
  }
  const month = { numberId: id, e164, startsAt: now, amountPaise: rentalPaise }
  // The carrier has sold the number. A refund or a lost dispute may have taken the money that was held, and the wallet may
  // be halted since: the charge is due all the same.
  await postRental(trx, organizationId, month, now)
  return true
}

/** Ends a pending purchase: nothing was bought, and the money is free again. Does nothing if it is not pending. */
export async function abandon(
  trx: Trx,
  { number }: Purchase,
  failure: { readonly code: string; readonly reason: string },
  now: number,
): Promise<void> {
  const { id, organizationId, environment } = number
  const row = await trx
    .updateTable('numbers')
    .set({ status: 'failed', releasedAt: now, agentId: null })
    .where('id', '=', id)
    .where('status', '=', 'pending')
    .returning('id')
    .executeTakeFirst()
  if (row === undefined) return
  await trx
    .updateTable('numberPurchases')
    .set({ failureCode: failure.code, failureReason: failure.reason })
    .where('numberId', '=', id)
    .execute()
  if (environment === 'live') await releaseHold(trx, organizationId, { type: 'number', id }, now)
}

/** Stores whether calls to a number arrive, unless the customer switched them off. */
export async function setInbound(
  db: Db | Trx,
  id: string,
  inbound: 'ready' | 'error',
  reason: string | null,
): Promise<void> {
  await db
    .updateTable('numbers')
    .set({ inbound, inboundReason: reason })
    .where('id', '=', id)
    .where('releasedAt', 'is', null)
    .where('inbound', '!=', 'disabled')
    .execute()
}
