import { ulid } from '../../../media/base/ids.js'
import { newestFirst, type Page, type PageRequest } from '../../api/pagination.js'
import type { Db, Trx } from '../../db/database.js'
import type { InvitationRow } from '../../db/tables/access.js'
import type { MemberRow, Role } from '../../db/tables/identity.js'
import { MAIL_TOKEN_LIFE_MS } from '../../mail/mail-tokens.js'

export interface Member extends MemberRow {
  readonly email: string
  readonly name: string
}

export async function findMember(
  db: Db | Trx,
  organizationId: string,
  userId: string,
): Promise<Member | null> {
  const row = await members(db, organizationId).where('m.userId', '=', userId).executeTakeFirst()
  return row ?? null
}

/** Newest first. */
export async function listMembers(db: Db, organizationId: string, page: PageRequest): Promise<Page<Member>> {
  return newestFirst(members(db, organizationId), page, { alias: 'm', id: 'userId' })
}

/**
 * Makes changes of an organization's members wait for one another until the transaction ends: two
 * owners that demote each other at once must not both succeed.
 */
export async function lockMembers(trx: Trx, organizationId: string): Promise<void> {
  await trx
    .updateTable('organizations')
    .set((eb) => ({ name: eb.ref('name') }))
    .where('id', '=', organizationId)
    .execute()
}

/** Under `lockMembers`. */
export async function isLastOwner(trx: Trx, organizationId: string, userId: string): Promise<boolean> {
  const other = await trx
    .selectFrom('members')
    .where('organizationId', '=', organizationId)
    .where('role', '=', 'owner')
    .where('userId', '<>', userId)
    .select('userId')
    .executeTakeFirst()
  return other === undefined
}

export async function setRole(trx: Trx, organizationId: string, userId: string, role: Role): Promise<void> {
  await trx
    .updateTable('members')
    .set({ role })
    .where('organizationId', '=', organizationId)
    .where('userId', '=', userId)
    .execute()
}

/** Their keys keep working with no scopes at all. */
export async function removeMember(trx: Trx, organizationId: string, userId: string): Promise<void> {
  await trx
    .deleteFrom('members')
    .where('organizationId', '=', organizationId)
    .where('userId', '=', userId)
    .execute()
}

/** Adds a member; one who is there already keeps the role. */
export async function addMember(trx: Trx, member: MemberRow): Promise<void> {
  await trx
    .insertInto('members')
    .values(member)
    .onConflict((conflict) => conflict.columns(['organizationId', 'userId']).doNothing())
    .execute()
}

export interface NewInvitation {
  readonly organizationId: string
  readonly email: string
  readonly role: Role
  readonly invitedBy: string
}

/** An earlier invitation of the same address is replaced, and its links become useless. */
export async function insertInvitation(trx: Trx, wanted: NewInvitation, now: number): Promise<InvitationRow> {
  const values = {
    id: ulid(now),
    ...wanted,
    createdAt: now,
    expiresAt: now + MAIL_TOKEN_LIFE_MS.invitation,
    acceptedAt: null,
  }
  return trx
    .insertInto('invitations')
    .values(values)
    .onConflict((conflict) => conflict.columns(['organizationId', 'email']).doUpdateSet(values))
    .returningAll()
    .executeTakeFirstOrThrow()
}

export async function findInvitation(db: Db | Trx, id: string): Promise<InvitationRow | null> {
  return (await db.selectFrom('invitations').selectAll().where('id', '=', id).executeTakeFirst()) ?? null
}

export async function acceptInvitation(trx: Trx, id: string, now: number): Promise<void> {
  await trx.updateTable('invitations').set({ acceptedAt: now }).where('id', '=', id).execute()
}

function members(db: Db | Trx, organizationId: string) {
  return db
    .selectFrom('members as m')
    .innerJoin('users as u', 'u.id', 'm.userId')
    .where('m.organizationId', '=', organizationId)
    .select(['m.organizationId', 'm.userId', 'm.role', 'm.createdAt', 'u.email', 'u.name'])
}
