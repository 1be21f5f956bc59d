import { newId } from '../../media/base/ids.js'
import { newestFirst, type Page, type PageRequest } from '../api/pagination.js'
import type { Db, Trx } from '../db/database.js'
import type { WalletAdjustmentRow } from '../db/tables/wallet.js'

/** Maximum number of adjustments of one organization that wait for a decision. */
export const MAX_PENDING = 20
const DAY_MS = 24 * 3_600_000

export interface NewAdjustment {
  readonly organizationId: string
  readonly amountPaise: number
  readonly reference: string
  readonly reason: string
  readonly requestedBy: string
  readonly status: 'applied' | 'pending'
}

export type ListedAdjustment = WalletAdjustmentRow & {
  readonly organizationName: string
  readonly requestedByEmail: string
}

export async function insertAdjustment(
  trx: Trx,
  adjustment: NewAdjustment,
  now: number,
): Promise<WalletAdjustmentRow> {
  return trx
    .insertInto('walletAdjustments')
    .values({
      id: newId('adj', now),
      ...adjustment,
      createdAt: now,
      decidedBy: null,
      decidedAt: null,
      decisionReason: null,
    })
    .returningAll()
    .executeTakeFirstOrThrow()
}

/**
 * Returns the sum (paise, without signs) of the adjustments of an organization in the last 24 hours that had no
 * second person, of all members of staff: several small adjustments count as one. Call it under `lockOrganization`.
 */
export async function movedAlonePaise(trx: Trx, organizationId: string, now: number): Promise<number> {
  const { moved } = await trx
    .selectFrom('walletAdjustments')
    .where('organizationId', '=', organizationId)
    .where('status', '=', 'applied')
    .where('createdAt', '>', now - DAY_MS)
    .select((eb) => eb.fn.sum<number | string | null>(eb.fn('abs', ['amountPaise'])).as('moved'))
    .executeTakeFirstOrThrow()
  return Number(moved ?? 0)
}

/** Returns the adjustments of an organization that wait. Call it under `lockOrganization`. */
export async function pendingAdjustments(
  trx: Trx,
  organizationId: string,
): Promise<readonly WalletAdjustmentRow[]> {
  return trx
    .selectFrom('walletAdjustments')
    .selectAll()
    .where('organizationId', '=', organizationId)
    .where('status', '=', 'pending')
    .execute()
}

export async function findAdjustment(db: Db | Trx, id: string): Promise<ListedAdjustment | null> {
  return (await listed(db).where('a.id', '=', id).executeTakeFirst()) ?? null
}

/** Lists adjustments, newest first, optionally of one status. */
export async function listAdjustments(
  db: Db,
  status: WalletAdjustmentRow['status'] | null,
  page: PageRequest,
): Promise<Page<ListedAdjustment>> {
  const all = listed(db)
  return newestFirst(status === null ? all : all.where('a.status', '=', status), page, { alias: 'a' })
}

export interface AdjustmentDecision {
  readonly status: 'approved' | 'rejected'
  readonly decidedBy: string
  readonly decisionReason: string
}

/** Decides on a pending adjustment. Returns false if it was decided before, or if the requester approves it. */
export async function decideAdjustmentRow(
  trx: Trx,
  id: string,
  decision: AdjustmentDecision,
  now: number,
): Promise<boolean> {
  let query = trx
    .updateTable('walletAdjustments')
    .set({ ...decision, decidedAt: now })
    .where('id', '=', id)
    .where('status', '=', 'pending')
  if (decision.status === 'approved') query = query.where('requestedBy', '<>', decision.decidedBy)
  return (await query.executeTakeFirst()).numUpdatedRows === 1n
}

function listed(db: Db | Trx) {
  return db
    .selectFrom('walletAdjustments as a')
    .innerJoin('organizations as o', 'o.id', 'a.organizationId')
    .innerJoin('users as u', 'u.id', 'a.requestedBy')
    .selectAll('a')
    .select(['o.name as organizationName', 'u.email as requestedByEmail'])
}
