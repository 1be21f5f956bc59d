import { newId } from '../../media/base/ids.js'
import { newestFirst, type Page, type PageRequest } from '../api/pagination.js'
import type { Db, Trx } from '../db/database.js'
import type { SipAccessRequestRow } from '../db/tables/trunks.js'
import { readOrganizationRows } from '../organization/profile-store.js'
import { latestVerification } from '../organization/verification-store.js'

/** The right of an organization to create trunks. */
export interface Entitlement {
  /** Set by staff. */
  readonly enabled: boolean
  readonly organizationVerified: boolean
  /** The latest request for access. */
  readonly request: SipAccessRequestRow | null
}

export async function readEntitlement(db: Db | Trx, organizationId: string): Promise<Entitlement> {
  const stored = await readOrganizationRows(db, organizationId)
  const verification = await latestVerification(db, organizationId)
  const request = await db
    .selectFrom('sipAccessRequests')
    .selectAll()
    .where('organizationId', '=', organizationId)
    .orderBy('createdAt', 'desc')
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst()
  return {
    enabled: stored?.profile.trunkingEnabled === 1,
    organizationVerified: verification?.status === 'verified',
    request: request ?? null,
  }
}

/** Stores a request. Returns null while one is pending. */
export async function insertAccessRequest(
  trx: Trx,
  organizationId: string,
  message: string,
  now: number,
): Promise<SipAccessRequestRow | null> {
  const row = await trx
    .insertInto('sipAccessRequests')
    .values({
      id: newId('sar', now),
      organizationId,
      message,
      status: 'pending',
      rejectionReason: null,
      reviewedBy: null,
      reviewedAt: null,
      createdAt: now,
    })
    .onConflict((conflict) => conflict.doNothing())
    .returningAll()
    .executeTakeFirst()
  return row ?? null
}

export async function findAccessRequest(db: Db | Trx, id: string): Promise<SipAccessRequestRow | null> {
  const row = await db.selectFrom('sipAccessRequests').selectAll().where('id', '=', id).executeTakeFirst()
  return row ?? null
}

/** Decides a pending request. Returns null if it is not pending. */
export async function decideAccessRequest(
  trx: Trx,
  id: string,
  decision: Pick<SipAccessRequestRow, 'status' | 'rejectionReason' | 'reviewedBy'>,
  now: number,
): Promise<SipAccessRequestRow | null> {
  const row = await trx
    .updateTable('sipAccessRequests')
    .set({ ...decision, reviewedAt: now })
    .where('id', '=', id)
    .where('status', '=', 'pending')
    .returningAll()
    .executeTakeFirst()
  return row ?? null
}

/** Returns a page of the requests of all organizations, newest first. */
export function listAccessRequests(
  db: Db,
  filter: { readonly status: SipAccessRequestRow['status'] | null },
  page: PageRequest,
): Promise<Page<SipAccessRequestRow>> {
  let query = db.selectFrom('sipAccessRequests').selectAll()
  if (filter.status !== null) query = query.where('status', '=', filter.status)
  return newestFirst(query, page)
}
