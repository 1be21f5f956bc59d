import { newId } from '../../media/base/ids.js'
import { newestFirst, type Page, type PageRequest } from '../api/pagination.js'
import type { Db, Trx } from '../db/database.js'
import type { RobocallDeclarationRow, SenderIdRow } from '../db/tables/organization.js'

export interface NewDeclaration {
  readonly organizationId: string
  readonly provider: string
  readonly reference: string
  readonly objective: string
  readonly callerIds: readonly string[]
  readonly declaredOn: string
  readonly effectiveFrom: string
  readonly createdBy: string
}

export async function insertDeclaration(
  trx: Trx,
  declaration: NewDeclaration,
  now: number,
): Promise<RobocallDeclarationRow> {
  return trx
    .insertInto('robocallDeclarations')
    .values({
      ...declaration,
      id: newId('rbd', now),
      callerIds: JSON.stringify(declaration.callerIds),
      createdAt: now,
      withdrawnAt: null,
    })
    .returningAll()
    .executeTakeFirstOrThrow()
}

export async function findDeclaration(
  db: Db | Trx,
  organizationId: string,
  id: string,
): Promise<RobocallDeclarationRow | null> {
  const row = await db
    .selectFrom('robocallDeclarations')
    .selectAll()
    .where('organizationId', '=', organizationId)
    .where('id', '=', id)
    .executeTakeFirst()
  return row ?? null
}

/** Withdraws a declaration. Returns null if it is not in force. */
export async function withdrawDeclaration(
  trx: Trx,
  organizationId: string,
  id: string,
  now: number,
): Promise<RobocallDeclarationRow | null> {
  const row = await trx
    .updateTable('robocallDeclarations')
    .set({ withdrawnAt: now })
    .where('organizationId', '=', organizationId)
    .where('id', '=', id)
    .where('withdrawnAt', 'is', null)
    .returningAll()
    .executeTakeFirst()
  return row ?? null
}

/** Returns a page, newest first. */
export async function listDeclarations(
  db: Db,
  organizationId: string,
  page: PageRequest,
): Promise<Page<RobocallDeclarationRow>> {
  return newestFirst(
    db.selectFrom('robocallDeclarations').selectAll().where('organizationId', '=', organizationId),
    page,
  )
}

export interface NewSenderId {
  readonly organizationId: string
  readonly series: string
  readonly e164: string
  readonly category: string
  readonly dltHeaderId: string
  readonly submittedBy: string
}

/** Inserts a sender id. Returns null if the organization already submitted or holds the number. */
export async function insertSenderId(
  trx: Trx,
  sender: NewSenderId,
  now: number,
): Promise<SenderIdRow | null> {
  const row = await trx
    .insertInto('senderIds')
    .values({
      ...sender,
      id: newId('sid', now),
      status: 'submitted',
      decidedBy: null,
      decidedAt: null,
      rejectionReason: null,
      createdAt: now,
    })
    .onConflict((conflict) => conflict.doNothing())
    .returningAll()
    .executeTakeFirst()
  return row ?? null
}

/** Returns a page, newest first. */
export async function listSenderIds(
  db: Db,
  organizationId: string,
  page: PageRequest,
): Promise<Page<SenderIdRow>> {
  return newestFirst(
    db.selectFrom('senderIds').selectAll().where('organizationId', '=', organizationId),
    page,
  )
}

/** Returns a sender id of any organization, for staff. */
export async function findSenderId(db: Db | Trx, id: string): Promise<SenderIdRow | null> {
  const row = await db.selectFrom('senderIds').selectAll().where('id', '=', id).executeTakeFirst()
  return row ?? null
}

export type SenderDecision = 'approved' | 'rejected' | 'revoked'

/** State required for each decision. */
const DECIDED_FROM: Readonly<Record<SenderDecision, string>> = {
  approved: 'submitted',
  rejected: 'submitted',
  revoked: 'approved',
}

/**
 * Decides a sender id. Returns null if it is in another state. Rejects with a unique violation if another
 * organization holds the number.
 */
export async function decideSenderId(
  trx: Trx,
  id: string,
  decision: { readonly status: SenderDecision; readonly staffId: string; readonly reason: string },
  now: number,
): Promise<SenderIdRow | null> {
  const row = await trx
    .updateTable('senderIds')
    .set({
      status: decision.status,
      decidedBy: decision.staffId,
      decidedAt: now,
      rejectionReason: decision.status === 'approved' ? null : decision.reason,
    })
    .where('id', '=', id)
    .where('status', '=', DECIDED_FROM[decision.status])
    .returningAll()
    .executeTakeFirst()
  return row ?? null
}

/** Returns the numbers that are approved sender ids of an organization. */
export async function approvedSenders(db: Db | Trx, organizationId: string): Promise<ReadonlySet<string>> {
  const rows = await db
    .selectFrom('senderIds')
    .select('e164')
    .where('organizationId', '=', organizationId)
    .where('status', '=', 'approved')
    .execute()
  return new Set(rows.map(({ e164 }) => e164))
}
