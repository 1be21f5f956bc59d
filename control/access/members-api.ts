import { z } from 'zod'
import type { Role as RoleName } from '../db/identity-tables.js'
import type { Trx } from '../db/open.js'
import type { Deps } from '../deps.js'
import { listOperation, operation, type SessionActor } from '../http/operation.js'
import { isRefusal, type Refusal, refuse } from '../http/problem.js'
import { idParam, Timestamp, timestamp } from '../http/schemas.js'
import { queueMail } from '../mail/outbox.js'
import { type Facts, recordAudit } from '../organization/audit.js'
import { Email, MailedToken, NewPassword, PersonName, Role } from './account-schemas.js'
import { findUserByEmail, insertUser, markVerified, setPassword } from './accounts.js'
import { readMailToken, spendMailToken } from './mail-tokens.js'
import {
  acceptInvitation as acceptInvitationRow,
  addMember,
  findInvitation,
  findMember,
  insertInvitation,
  isLastOwner,
  listMembers as listMemberRows,
  lockMembers,
  type Member as MemberView,
  removeMember as removeMemberRow,
  setRole,
} from './members-store.js'
import { ADMINS } from './scopes.js'
import { hashPassword } from './secrets.js'
import { endSessionsOf } from './sessions.js'
import { throttle } from './throttle.js'

/** Bounds what one organization can mail to strangers. */
const INVITATIONS_PER_MINUTE = 30

const RoleInput = z.enum(['owner', 'admin', 'developer', 'viewer', 'billing'])
const MemberPath = z.object({ userId: idParam('usr') })

const Member = z.object({
  userId: z.string(),
  email: z.string(),
  name: z.string(),
  role: Role,
  createdAt: Timestamp,
})

const Invitation = z.object({ email: z.string(), role: Role, createdAt: Timestamp, expiresAt: Timestamp })

export const listMembers = listOperation({
  id: 'listMembers',
  path: '/v1/organization/members',
  tag: 'Organization',
  summary: 'Lists the members, newest first',
  audience: 'session',
  result: Member,
  fails: [],
  run: async ({ actor, deps, page }) => {
    const { items, next } = await listMemberRows(deps.db, actor.organizationId, page)
    return { items: items.map(memberView), next }
  },
})

export const inviteMember = operation({
  id: 'inviteMember',
  method: 'post',
  path: '/v1/organization/invitations',
  tag: 'Organization',
  summary: 'Invites somebody by mail; replaces an earlier invitation of the address',
  audience: 'session',
  roles: ADMINS,
  body: z.strictObject({ email: Email, role: RoleInput }),
  status: 201,
  result: Invitation,
  fails: ['forbidden', 'conflict', 'rate_limited'],
  run: async ({ actor, body, deps, requestId }) => {
    const denied = beyondRole(actor, body.role)
    if (denied !== null) return denied
    const { organizationId, userId: invitedBy } = actor
    const limited = await throttle(deps, `invite ${organizationId}`, INVITATIONS_PER_MINUTE)
    if (limited !== null) return limited
    const user = await findUserByEmail(deps.db, body.email)
    if (user !== undefined && (await findMember(deps.db, organizationId, user.id)) !== null) {
      return refuse('conflict', 'This address belongs to a member already.')
    }
    const now = deps.clock.wall()
    const invitation = await deps.db.transaction().execute(async (trx) => {
      const row = await insertInvitation(trx, { organizationId, invitedBy, ...body }, now)
      await queueMail(trx, now, body.email, { kind: 'invitation', invitationId: row.id })
      const subject = { type: 'invitation', id: row.id }
      const after = { email: body.email, role: body.role }
      await recordAudit(
        trx,
        { organizationId, actor, action: 'member.invited', subject, after, requestId },
        now,
      )
      return row
    })
    deps.mail.wake()
    const { email, role, createdAt, expiresAt } = invitation
    return { email, role, createdAt: timestamp(createdAt), expiresAt: timestamp(expiresAt) }
  },
})

export const changeMemberRole = operation({
  id: 'changeMemberRole',
  method: 'patch',
  path: '/v1/organization/members/:userId',
  tag: 'Organization',
  summary: 'Changes the role of a member; what their keys may do follows at once',
  audience: 'session',
  roles: ADMINS,
  params: MemberPath,
  body: z.strictObject({ role: RoleInput }),
  status: 200,
  result: Member,
  fails: ['not_found', 'forbidden', 'conflict'],
  run: ({ actor, params, body, deps, requestId }) =>
    changeMember(deps, actor, params.userId, body.role, async (trx, member) => {
      await setRole(trx, actor.organizationId, member.userId, body.role)
      await audit(trx, { actor, deps, requestId }, 'role_changed', member.userId, {
        before: { role: member.role },
        after: { role: body.role },
      })
      return memberView({ ...member, role: body.role })
    }),
})

export const removeMember = operation({
  id: 'removeMember',
  method: 'delete',
  path: '/v1/organization/members/:userId',
  tag: 'Organization',
  summary: 'Removes a member; keys that they made lose all scopes',
  audience: 'session',
  roles: ADMINS,
  params: MemberPath,
  status: 204,
  fails: ['not_found', 'forbidden', 'conflict'],
  run: ({ actor, params, deps, requestId }) =>
    changeMember(deps, actor, params.userId, null, async (trx, member) => {
      await removeMemberRow(trx, actor.organizationId, member.userId)
      await audit(trx, { actor, deps, requestId }, 'removed', member.userId, {
        before: { role: member.role },
      })
      return undefined
    }),
})

export const acceptInvitation = operation({
  id: 'acceptInvitation',
  method: 'post',
  path: '/v1/invitations/accept',
  tag: 'Sign-up and session',
  summary: 'Accepts an invitation with the token of the mail; name and password make a new account',
  audience: 'public',
  perMinute: 30,
  body: z.strictObject({ token: MailedToken, name: PersonName.optional(), password: NewPassword.optional() }),
  status: 200,
  result: z.object({ userId: z.string(), organizationId: z.string(), email: z.string(), role: Role }),
  fails: ['invalid_token', 'token_expired', 'conflict', 'validation_error'],
  run: async ({ body, deps, requestId }) => {
    const { token, name, password } = body
    const passwordHash = password === undefined ? null : await hashPassword(password)
    const account = name === undefined || passwordHash === null ? null : { name, passwordHash }
    const now = deps.clock.wall()
    return deps.db.transaction().execute(async (trx) => {
      const accepted = await accept(trx, deps, now, token, account)
      if (isRefusal(accepted)) return accepted
      const { organizationId, userId, role } = accepted
      const note = {
        organizationId,
        actor: { kind: 'invited', userId },
        action: 'member.joined',
        subject: { type: 'member', id: userId },
        after: { role },
        requestId,
      } as const
      await recordAudit(trx, note, now)
      return accepted
    })
  },
})

export const memberOperations = [listMembers, inviteMember, changeMemberRole, removeMember, acceptInvitation]

/**
 * Changes or removes (`role` null) a member while no other member changes. Only owners touch owners,
 * and one of them stays.
 */
async function changeMember<T>(
  deps: Deps,
  actor: SessionActor,
  userId: string,
  role: RoleName | null,
  change: (trx: Trx, member: MemberView) => Promise<T>,
): Promise<T | Refusal> {
  const { organizationId } = actor
  return deps.db.transaction().execute(async (trx): Promise<T | Refusal> => {
    await lockMembers(trx, organizationId)
    const acting = await findMember(trx, organizationId, actor.userId)
    const member = await findMember(trx, organizationId, userId)
    if (member === null) return refuse('not_found', 'There is no such member.')
    // Read again under the lock: the actor may have been demoted since the request was admitted.
    if (acting === null || !ADMINS.includes(acting.role)) return refuse('forbidden', 'Your role was changed.')
    const denied = beyondRole(acting, member.role) ?? (role === null ? null : beyondRole(acting, role))
    if (denied !== null) return denied
    if (member.role === 'owner' && role !== 'owner' && (await isLastOwner(trx, organizationId, userId))) {
      return refuse('conflict', 'An organization keeps at least one owner: make somebody else owner first.')
    }
    return change(trx, member)
  })
}

/** Adds to the organization's log what was done to a member. */
function audit(
  trx: Trx,
  input: { readonly actor: SessionActor; readonly deps: Deps; readonly requestId: string },
  what: 'role_changed' | 'removed',
  userId: string,
  change: { readonly before?: Facts; readonly after?: Facts },
): Promise<void> {
  const { actor, deps, requestId } = input
  return recordAudit(
    trx,
    {
      organizationId: actor.organizationId,
      actor,
      action: `member.${what}`,
      subject: { type: 'member', id: userId },
      ...change,
      requestId,
    },
    deps.clock.wall(),
  )
}

/** Admins neither make owners nor change them. */
function beyondRole(actor: { readonly role: RoleName }, role: RoleName): Refusal<'forbidden'> | null {
  if (role !== 'owner' || actor.role === 'owner') return null
  return refuse('forbidden', 'Only an owner may do this to an owner.')
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
  const invitation = await findInvitation(trx, read.subjectId)
  // A later invitation of the same address took its place.
  if (invitation === null) return refuse('invalid_token', 'The invitation was replaced by a later one.')
  const { email, organizationId, role } = invitation
  const user = await findUserByEmail(trx, email)
  if (user?.staff === 1) return refuse('conflict', 'Accounts of the staff belong to no organization.')
  // An account whose address nobody has proved may have been made by anybody: it starts anew.
  const known = user !== undefined && user.emailVerifiedAt !== null
  if (!known && account === null) {
    return refuse('validation_error', 'A new account needs a name and a password.', {
      issues: ['name', 'password'].map((path) => ({ path, reason: 'required for a new account' })),
    })
  }
  const spent = await spendMailToken(trx, rootKey, now, 'invitation', token)
  if (isRefusal(spent)) return spent
  let userId = user?.id ?? null
  if (user === undefined && account !== null) {
    userId = await insertUser(trx, now, { email, ...account, emailVerifiedAt: now })
  } else if (user !== undefined && !known && account !== null) {
    await trx.updateTable('users').set({ name: account.name }).where('id', '=', user.id).execute()
    await setPassword(trx, user.id, account.passwordHash)
    await endSessionsOf(trx, user.id, null)
    await markVerified(trx, user.id, now)
  }
  if (userId === null) return refuse('conflict', 'The account was made at this moment: accept again.')
  await addMember(trx, { organizationId, userId, role, createdAt: now })
  await acceptInvitationRow(trx, invitation.id, now)
  return { userId, organizationId, email, role }
}

function memberView({ userId, email, name, role, createdAt }: MemberView): z.input<typeof Member> {
  return { userId, email, name, role, createdAt: timestamp(createdAt) }
}
