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

/** Lists members, newest first. */
export async function listMembers(db: Db, organizationId: string, page: PageRequest): Promise<Page<Member>> {
  return newestFirst(members(db, organizationId), page, { alias: 'm', id: 'userId' })
}

/**
 * Serializes changes of an organization's members until the transaction ends. Without it, two owners could
 * demote each other at the same time.
 */
export async function lockMembers(trx: Trx, organizationId: string): Promise<void> {
  await trx
    .updateTable('organizations')
    .set((eb) => ({ name: eb.ref('name') }))
    .where('id', '=', organizationId)
    .execute()
}

/** Call it under `lockMembers`. */
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

/** Removes a member. The member's API keys keep working, with no scopes. */
export async function removeMember(trx: Trx, organizationId: string, userId: string): Promise<void> {
  await trx
    .deleteFrom('members')
    .where('organizationId', '=', organizationId)
    .where('userId', '=', userId)
    .execute()
}

/** Adds a member. An existing member keeps the role. */
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

/** Inserts an invitation. It replaces an earlier one of the same address, whose links become invalid. */
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
