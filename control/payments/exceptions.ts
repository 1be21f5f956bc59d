import { newId } from '../../media/base/ids.js'
import type { Log } from '../../media/base/log.js'
import type { Db, Trx } from '../db/database.js'
import type { PaymentExceptionRow } from '../db/tables/payments.js'
import { queueMailToStaff } from '../mail/outbox.js'

/** Something about money that no rule decides. */
export interface PaymentException {
  readonly gateway: string
  readonly kind:
    | 'unknown_order'
    | 'unknown_event'
    | 'amount_mismatch'
    | 'second_payment'
    | 'refund_exceeds_balance'
    | 'credit_note_late'
    | 'dispute_lost'
    | 'uncredited_payment'
    | 'unknown_refund'
    | 'unknown_adjustment'
    | 'unsettled_payment'
    | 'settlement_amount'
    | 'webhooks_stopped'
  /** Subject of the exception, for example the id of a payment. */
  readonly subject: string
  readonly organizationId?: string
  readonly topupId?: string
  readonly paymentId?: string
  readonly amountPaise?: number
  readonly details?: Readonly<Record<string, string | number | null>>
}

/** Keeps an exception for staff and mails it. Does nothing if it is known. */
export async function keepException(
  trx: Trx,
  exception: PaymentException,
  now: number,
  log: Log,
): Promise<void> {
  const { gateway, kind, subject, details = {} } = exception
  const { organizationId = null, topupId = null, paymentId = null, amountPaise = null } = exception
  const kept = await trx
    .insertInto('paymentExceptions')
    .values({
      id: newId('pex', now),
      ...{ gateway, kind, subject, organizationId, topupId, paymentId, amountPaise },
      details: JSON.stringify(details),
      createdAt: now,
      ...{ resolution: null, reason: null, resolvedBy: null, resolvedAt: null },
      ...{ attempts: 0, attemptedAt: null },
    })
    .onConflict((conflict) => conflict.columns(['gateway', 'kind', 'subject']).doNothing())
    .returning('id')
    .executeTakeFirst()
  if (kept === undefined) return
  log.error({ exceptionId: kept.id, gateway, kind, topupId }, 'payment.exception')
  await queueMailToStaff(trx, now, {
    kind: 'notice',
    subject: `A payment needs a decision (${kind})`,
    text: `The exception ${kept.id} of the gateway ${gateway} is about ${subject}. GET /v1/staff/payment-exceptions shows it.`,
  })
}

export async function findException(db: Db | Trx, id: string): Promise<PaymentExceptionRow | null> {
  const row = await db.selectFrom('paymentExceptions').selectAll().where('id', '=', id).executeTakeFirst()
  return row ?? null
}

/** The decision of a member of staff about an exception. */
export interface ExceptionDecision {
  readonly resolution: string
  readonly reason: string
  readonly resolvedBy: string
}

/** A claim of an exception whose money is about to move. */
export interface ExceptionClaim {
  readonly attempt: number
  /** Time of the claim before this one (Unix ms), whose outcome may be unknown. Null if there is none. */
  readonly earlierAt: number | null
}

/**
 * Claims an exception before its money moves, so that no other decision interferes. The same decision may claim it
 * again, because the outcome of an earlier attempt may be unknown. Returns null if the exception is resolved, if another
 * decision claimed it, or if another request claims it at the same moment. `now` is Unix time (ms).
 */
export async function claimException(
  db: Db,
  id: string,
  decision: ExceptionDecision,
  now: number,
): Promise<ExceptionClaim | null> {
  const before = await findException(db, id)
  if (before === null) return null
  const attempt = before.attempts + 1
  const claimed = await undecided(db, id, decision)
    .set({ ...decision, attempts: attempt, attemptedAt: now })
    .where('attempts', '=', before.attempts)
    // A release changes the time, not the number of attempts.
    .where('attemptedAt', before.attemptedAt === null ? 'is' : '=', before.attemptedAt)
    .executeTakeFirst()
  return claimed === undefined ? null : { attempt, earlierAt: before.attemptedAt }
}

/** Releases a claim whose money did certainly not move. A later claim of the exception stays. */
export async function releaseException(db: Db, id: string, { attempt }: ExceptionClaim): Promise<void> {
  await db
    .updateTable('paymentExceptions')
    .set({ resolution: null, reason: null, resolvedBy: null, attemptedAt: null })
    .where('id', '=', id)
    .where('attempts', '=', attempt)
    .where('resolvedAt', 'is', null)
    .execute()
}

/** Gives a claim the time of the earlier attempt back: its own attempt moved no money. A later claim stays. */
export async function returnToEarlierClaim(
  db: Db,
  id: string,
  { attempt, earlierAt }: ExceptionClaim,
): Promise<void> {
  await db
    .updateTable('paymentExceptions')
    .set({ attemptedAt: earlierAt })
    .where('id', '=', id)
    .where('attempts', '=', attempt)
    .where('resolvedAt', 'is', null)
    .execute()
}

/** Records the decision about an exception. Returns false if there is another one already. */
export async function resolveException(
  trx: Trx,
  id: string,
  decision: ExceptionDecision,
  now: number,
): Promise<boolean> {
  const row = await undecided(trx, id, decision)
    .set({ ...decision, resolvedAt: now })
    .executeTakeFirst()
  return row !== undefined
}

function undecided(db: Db | Trx, id: string, { resolution }: ExceptionDecision) {
  return db
    .updateTable('paymentExceptions')
    .where('id', '=', id)
    .where('resolvedAt', 'is', null)
    .where((eb) => eb.or([eb('resolution', 'is', null), eb('resolution', '=', resolution)]))
    .returning('id')
}
