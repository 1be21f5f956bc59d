import { ulid } from '../../../media/base/ids.js'
import { newestFirst, type Page, type PageRequest } from '../../api/pagination.js'
import { ADMIN_ROLES, refuseAboveRole } from '../../api/scopes.js'
import type { Db, Trx } from '../../db/database.js'
import type { InvitationRow } from '../../db/tables/access.js'
import type { MemberRow, Role } from '../../db/tables/identity.js'
import { MAIL_TOKEN_LIFE_MS } from '../../mail/mail-tokens.js'

export interface Member extends MemberRow {
  readonly email: string
  readonly name: string
  /** Number of confirmed second factors. */
  readonly factors: number
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

/** Returns the id of an invitation in the API. The stored id has no prefix. */
export function invitationId(storedId: string): string {
  return `invt_${storedId}`
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

/** Finds an open invitation of the organization: not accepted and not expired. */
export async function findOpenInvitation(
  db: Db | Trx,
  organizationId: string,
  id: string,
  now: number,
): Promise<InvitationRow | null> {
  return (await openInvitations(db, organizationId, now).where('id', '=', id).executeTakeFirst()) ?? null
}

/** Lists the open invitations, newest first. */
export async function listOpenInvitations(
  db: Db,
  organizationId: string,
  now: number,
  page: PageRequest,
): Promise<Page<InvitationRow>> {
  return newestFirst(openInvitations(db, organizationId, now), page)
}

/** Deletes an invitation. Its links become invalid, and its mail is not sent any more. */
export async function deleteInvitation(trx: Trx, id: string): Promise<void> {
  await trx.deleteFrom('invitations').where('id', '=', id).execute()
}

/**
 * Deletes the invitations that were not accepted and that their inviter may no longer make with the role
 * `role`, or without membership if null. Returns them.
 */
export async function deleteInvitationsBeyond(
  trx: Trx,
  inviter: { readonly organizationId: string; readonly userId: string; readonly role: Role | null },
): Promise<readonly InvitationRow[]> {
  const { organizationId, userId, role } = inviter
  const made = await trx
    .selectFrom('invitations')
    .selectAll()
    .where('organizationId', '=', organizationId)
    .where('invitedBy', '=', userId)
    .where('acceptedAt', 'is', null)
    .orderBy('id')
    .execute()
  const voided = made.filter((invitation) => !mayInvite(role, invitation.role))
  for (const { id } of voided) await deleteInvitation(trx, id)
  return voided
}

/** Returns whether a member with the role `role` may invite a member as `wanted`. A null role belongs to no member. */
export function mayInvite(role: Role | null, wanted: Role): boolean {
  return role !== null && ADMIN_ROLES.includes(role) && refuseAboveRole({ role }, wanted) === null
}

export async function acceptInvitation(trx: Trx, id: string, now: number): Promise<void> {
  await trx.updateTable('invitations').set({ acceptedAt: now }).where('id', '=', id).execute()
}

function openInvitations(db: Db | Trx, organizationId: string, now: number) {
  return db
    .selectFrom('invitations')
    .selectAll()
    .where('organizationId', '=', organizationId)
    .where('acceptedAt', 'is', null)
    .where('expiresAt', '>', now)
}

function members(db: Db | Trx, organizationId: string) {
  return db
    .selectFrom('members as m')
    .innerJoin('users as u', 'u.id', 'm.userId')
    .where('m.organizationId', '=', organizationId)
    .select(['m.organizationId', 'm.userId', 'm.role', 'm.createdAt', 'u.email', 'u.name'])
    .select((eb) =>
      eb
        .selectFrom('secondFactors as f')
        .whereRef('f.userId', '=', 'm.userId')
        .where('f.confirmedAt', 'is not', null)
        .select(({ fn }) => fn.countAll<number>().as('n'))
        .$asScalar()
        .$notNull()
        .as('factors'),
    )
}
