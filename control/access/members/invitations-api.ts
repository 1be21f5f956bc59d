import { z } from 'zod'
import type { SessionActor } from '../../api/actor.js'
import { audited, recorder } from '../../api/audited.js'
import type { Deps } from '../../api/deps.js'
import { listOperation, operation } from '../../api/operation.js'
import { isRefusal, type Refusal, refuse } from '../../api/problem.js'
import { ADMIN_ROLES, refuseAboveRole } from '../../api/scopes.js'
import { idParam, Timestamp, timestamp } from '../../base/schemas.js'
import type { Trx } from '../../db/database.js'
import type { InvitationRow } from '../../db/tables/access.js'
import type { Role as RoleName } from '../../db/tables/identity.js'
import { readMailToken, useMailToken } from '../../mail/mail-tokens.js'
import { queueMail } from '../../mail/outbox.js'
import { Email, MailedToken, NewPassword, PersonName, Role, RoleInput } from '../accounts/schemas.js'
import { findUserByEmail, insertUser, markEmailVerified, setPassword } from '../accounts/store.js'
import { endUserSessions } from '../sessions/sessions.js'
import { throttle } from '../throttle.js'
import {
  acceptInvitation as acceptInvitationRow,
  addMember,
  deleteInvitation,
  findInvitation,
  findMember,
  findOpenInvitation,
  insertInvitation,
  invitationId,
  listOpenInvitations,
  lockMembers,
  mayInvite,
} from './store.js'

/** Limits the mail that one organization can send to strangers. */
const INVITATIONS_PER_MINUTE = 30

const Invitation = z.object({
  id: z.string(),
  email: z.string(),
  role: Role,
  invitedBy: z.string().meta({ description: 'Id of the user who made the invitation.' }),
  createdAt: Timestamp,
  expiresAt: Timestamp,
})

const InvitationPath = z.object({ id: idParam('invt').transform((id) => id.slice(invitationId('').length)) })

export const inviteMember = operation({
  id: 'inviteMember',
  method: 'post',
  path: '/v1/organization/invitations',
  tag: 'Organization',
  summary: 'Invite a member by email',
  description: 'Replaces an earlier invitation to the same address.',
  audience: 'session',
  roles: ADMIN_ROLES,
  body: z.strictObject({ email: Email, role: RoleInput }),
  status: 201,
  result: Invitation,
  fails: ['forbidden', 'conflict', 'rate_limited'],
  run: async ({ actor, body, deps, requestId }) => {
    const denied = refuseAboveRole(actor, body.role)
    if (denied !== null) return denied
    const { organizationId, userId: invitedBy } = actor
    const limited = await throttle(deps, `invite ${organizationId}`, INVITATIONS_PER_MINUTE)
    if (limited !== null) return limited
    const user = await findUserByEmail(deps.db, body.email)
    if (user !== undefined && (await findMember(deps.db, organizationId, user.id)) !== null) {
      return refuse('conflict', 'This address already belongs to a member.')
    }
    const input = { actor, deps, requestId }
    const invitation = await audited(input, async (trx, record, now): Promise<InvitationRow | Refusal> => {
      await lockMembers(trx, organizationId)
      // Read again under the lock: the actor may have been demoted since the request was admitted.
      const refusal = await refuseInviter(trx, actor, body.role)
      if (refusal !== null) return refusal
      const row = await insertInvitation(trx, { organizationId, invitedBy, ...body }, now)
      await queueMail(trx, now, body.email, { kind: 'invitation', invitationId: row.id })
      const after = { email: body.email, role: body.role }
      await record('member.invited', invitationId(row.id), { subject: 'invitation', after })
      return row
    })
    if (isRefusal(invitation)) return invitation
    deps.mail.wake()
    return invitationView(invitation)
  },
})

export const listInvitations = listOperation({
  id: 'listInvitations',
  path: '/v1/organization/invitations',
  tag: 'Organization',
  summary: 'List open invitations',
  description: 'Invitations that were neither accepted nor revoked and have not expired, newest first.',
  audience: 'session',
  roles: ADMIN_ROLES,
  result: Invitation,
  fails: [],
  run: async ({ actor, deps, page }) => {
    const now = deps.clock.wall()
    const { items, next } = await listOpenInvitations(deps.db, actor.organizationId, now, page)
    return { items: items.map(invitationView), next }
  },
})

export const revokeInvitation = operation({
  id: 'revokeInvitation',
  method: 'delete',
  path: '/v1/organization/invitations/:id',
  tag: 'Organization',
  summary: 'Revoke an invitation',
  description: 'The mailed link becomes invalid. Only an owner revokes the invitation of an owner.',
  audience: 'session',
  roles: ADMIN_ROLES,
  params: InvitationPath,
  status: 204,
  fails: ['not_found', 'forbidden'],
  run: ({ params, ...input }) => {
    const { actor } = input
    return audited(input, async (trx, record, now): Promise<undefined | Refusal> => {
      await lockMembers(trx, actor.organizationId)
      const invitation = await findOpenInvitation(trx, actor.organizationId, params.id, now)
      if (invitation === null) return refuse('not_found', 'There is no open invitation with this id.')
      const { email, role } = invitation
      const refusal = await refuseInviter(trx, actor, role)
      if (refusal !== null) return refusal
      await deleteInvitation(trx, invitation.id)
      await record('invitation.revoked', invitationId(invitation.id), { before: { email, role } })
      return undefined
    })
  },
})

export const acceptInvitation = operation({
  id: 'acceptInvitation',
  method: 'post',
  path: '/v1/invitations/accept',
  tag: 'Sign-up and session',
  summary: 'Accept an invitation',
  description:
    'Takes the token from the invitation email. With a name and a password it also creates the account.',
  audience: 'public',
  perMinute: 30,
  body: z.strictObject({ token: MailedToken, name: PersonName.optional(), password: NewPassword.optional() }),
  status: 200,
  result: z.object({ userId: z.string(), organizationId: z.string(), email: z.string(), role: Role }),
  fails: ['invalid_token', 'token_expired', 'conflict', 'validation_error', 'internal_error'],
  run: async ({ body, deps, requestId }) => {
    const { token, name, password } = body
    // The token comes first: a hash costs much.
    const read = await readMailToken(deps.db, deps.rootKey, deps.clock.wall(), 'invitation', token)
    if (isRefusal(read)) return read
    const passwordHash = password === undefined ? null : await deps.passwords.hash(password)
    const account = name === undefined || passwordHash === null ? null : { name, passwordHash }
    const now = deps.clock.wall()
    return deps.db.transaction().execute(async (trx) => {
      const accepted = await accept(trx, deps, now, token, account)
      if (isRefusal(accepted)) return accepted
      const { organizationId, userId, role } = accepted
      const record = recorder(trx, { organizationId, actor: { kind: 'invited', userId }, requestId }, now)
      await record('member.joined', userId, { after: { role } })
      return accepted
    })
  },
})

export const invitationOperations = [inviteMember, listInvitations, revokeInvitation, acceptInvitation]

function invitationView(row: InvitationRow): z.input<typeof Invitation> {
  const { id, email, role, invitedBy, createdAt, expiresAt } = row
  return {
    id: invitationId(id),
    email,
    role,
    invitedBy,
    createdAt: timestamp(createdAt),
    expiresAt: timestamp(expiresAt),
  }
}

/**
 * Refuses when the actor's present role does not allow invitations as `role`. Call it under `lockMembers`.
 * Returns null when it does.
 */
async function refuseInviter(trx: Trx, actor: SessionActor, role: RoleName): Promise<Refusal | null> {
  const acting = await findMember(trx, actor.organizationId, actor.userId)
  if (acting === null || !ADMIN_ROLES.includes(acting.role))
    return refuse('forbidden', 'Your role has changed and no longer allows this. Sign in again.')
  return refuseAboveRole(acting, role)
}

/** `account` is null unless both name and password were given. */
async function accept(
  trx: Trx,
  { rootKey }: Deps,
  now: number,
  token: string,
  account: { name: string; passwordHash: string } | null,
) {
  const read = await readMailToken(trx, rootKey, now, 'invitation', token)
  if (isRefusal(read)) return read
  const found = await findInvitation(trx, read.subjectId)
  if (found === null) return noInvitation()
  const { email, organizationId, role } = found
  // Under this lock the inviter is neither removed nor demoted, and the invitation is not revoked.
  await lockMembers(trx, organizationId)
  const invitation = await findInvitation(trx, read.subjectId)
  if (invitation === null) return noInvitation()
  const inviter = await findMember(trx, organizationId, invitation.invitedBy)
  if (!mayInvite(inviter?.role ?? null, role)) {
    return refuse(
      'invalid_token',
      'The person who invited you may no longer do so. Ask for a new invitation.',
    )
  }
  let user = await findUserByEmail(trx, email)
  if (user === undefined && account !== null) {
    // The address may be signed up at this moment. The row that exists then is read below.
    await insertUser(trx, now, { email, ...account, emailVerifiedAt: null })
    user = await findUserByEmail(trx, email)
  }
  // Anybody may have made an account with an unverified address. It is reset.
  const known = user !== undefined && user.emailVerifiedAt !== null
  if (user === undefined || (!known && account === null)) {
    return refuse('validation_error', 'A new account needs a name and a password.', {
      issues: ['name', 'password'].map((path) => ({ path, reason: 'required for a new account' })),
    })
  }
  if (user.staff === 1) return refuse('conflict', 'Staff accounts cannot belong to an organization.')
  const spent = await useMailToken(trx, rootKey, now, 'invitation', token)
  if (isRefusal(spent)) return spent
  const userId = user.id
  if (!known && account !== null) {
    await trx.updateTable('users').set({ name: account.name }).where('id', '=', userId).execute()
    await setPassword(trx, userId, account.passwordHash)
    await endUserSessions(trx, userId, null)
    await markEmailVerified(trx, userId, now)
  }
  await addMember(trx, { organizationId, userId, role, createdAt: now })
  await acceptInvitationRow(trx, invitation.id, now)
  return { userId, organizationId, email, role }
}

function noInvitation(): Refusal<'invalid_token'> {
  return refuse('invalid_token', 'The invitation was revoked or replaced by a later one.')
}
