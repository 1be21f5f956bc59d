import { newId } from '../../media/base/ids.js'
import type { GstRate, TaxedAmount, TaxHeads } from '../billing/gst.js'
import { taxTotal } from '../billing/gst.js'
import type { Db, Trx } from '../db/database.js'
import type { TopupRefundRow, TopupRow } from '../db/tables/payments.js'
import type { Recipient } from '../invoices/issue.js'

export interface NewTopup {
  readonly organizationId: string
  readonly gateway: string
  readonly amountPaise: number
  readonly tax: TaxHeads
  readonly rate: GstRate
  readonly recipient: Recipient
  readonly createdBy: string
  readonly expiresAt: number
}

export async function insertTopup(db: Db | Trx, topup: NewTopup, now: number): Promise<TopupRow> {
  const { amountPaise, tax, rate, recipient, ...fields } = topup
  const row: TopupRow = {
    ...fields,
    id: newId('top', now),
    gatewayRef: null,
    status: 'created',
    amountPaise,
    ...tax,
    payablePaise: amountPaise + taxTotal(tax),
    rate: JSON.stringify(rate),
    recipient: JSON.stringify(recipient),
    paymentId: null,
    bankReference: null,
    createdAt: now,
    paidAt: null,
    notifiedAt: null,
    settlementId: null,
    updatedAt: now,
  }
  await db.insertInto('topups').values(row).execute()
  return row
}

export async function findTopup(db: Db | Trx, id: string): Promise<TopupRow | null> {
  return (await db.selectFrom('topups').selectAll().where('id', '=', id).executeTakeFirst()) ?? null
}

/** Returns a top-up of an organization, or null. */
export async function findOwnTopup(db: Db, organizationId: string, id: string): Promise<TopupRow | null> {
  const topup = await findTopup(db, id)
  return topup?.organizationId === organizationId ? topup : null
}

/** Returns the top-up of an order of the gateway, or null. */
export async function findTopupByOrder(
  db: Db | Trx,
  gateway: string,
  gatewayRef: string,
): Promise<TopupRow | null> {
  const row = await db
    .selectFrom('topups')
    .selectAll()
    .where('gateway', '=', gateway)
    .where('gatewayRef', '=', gatewayRef)
    .executeTakeFirst()
  return row ?? null
}

/** Returns the top-up that a payment was credited to, or null. */
export async function findTopupByPayment(
  db: Db | Trx,
  gateway: string,
  paymentId: string,
): Promise<TopupRow | null> {
  const row = await db
    .selectFrom('topups')
    .selectAll()
    .where('gateway', '=', gateway)
    .where('paymentId', '=', paymentId)
    .executeTakeFirst()
  return row ?? null
}

/** Reads a top-up and locks it until the end of the transaction. */
export function lockTopup(trx: Trx, id: string, now: number): Promise<TopupRow> {
  return trx
    .updateTable('topups')
    .set({ updatedAt: now })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow()
}

export async function updateTopup(trx: Trx, id: string, change: Partial<TopupRow>): Promise<void> {
  await trx.updateTable('topups').set(change).where('id', '=', id).execute()
}

/** Returns the refunds of a top-up that were not refused by the bank. */
export function standingRefunds(db: Db | Trx, topupId: string): Promise<readonly TopupRefundRow[]> {
  return db
    .selectFrom('topupRefunds')
    .selectAll()
    .where('topupId', '=', topupId)
    .where('status', '<>', 'failed')
    .execute()
}

/** Returns the tax by head of a row. */
export function taxOf({ cgstPaise, sgstPaise, utgstPaise, igstPaise }: TaxHeads): TaxHeads {
  return { cgstPaise, sgstPaise, utgstPaise, igstPaise }
}

/** Sums value and tax of refunds. */
export function sumOf(refunds: readonly (TaxHeads & { readonly taxablePaise: number })[]): TaxedAmount {
  const total = (head: keyof TaxHeads | 'taxablePaise') => refunds.reduce((sum, row) => sum + row[head], 0)
  return {
    taxablePaise: total('taxablePaise'),
    tax: {
      cgstPaise: total('cgstPaise'),
      sgstPaise: total('sgstPaise'),
      utgstPaise: total('utgstPaise'),
      igstPaise: total('igstPaise'),
    },
  }
}

/** Returns whether a dispute claims money of an organization (see `isClaim`). */
export async function isMoneyClaimed(db: Db | Trx, organizationId: string): Promise<boolean> {
  const claim = await db
    .selectFrom('topupDisputes')
    .innerJoin('topups', 'topups.id', 'topupDisputes.topupId')
    .select('disputeId')
    .where('topups.organizationId', '=', organizationId)
    .where('topupDisputes.phase', '<>', 'retrieval')
    .where('topupDisputes.status', 'in', ['open', 'under_review'])
    .limit(1)
    .executeTakeFirst()
  return claim !== undefined
}
