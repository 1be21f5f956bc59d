import { z } from 'zod'
import { recordAudit } from '../../api/audit.js'
import type { Deps } from '../../api/deps.js'
import { operation } from '../../api/operation.js'
import { isRefusal, refuse } from '../../api/problem.js'
import { ADMIN_ROLES, refuseAboveRole } from '../../api/scopes.js'
import { Timestamp, timestamp } from '../../base/schemas.js'
import type { Trx } from '../../db/database.js'
import { readMailToken, useMailToken } from '../../mail/mail-tokens.js'
import { queueMail } from '../../mail/outbox.js'
import { Email, MailedToken, NewPassword, PersonName, Role, RoleInput } from '../accounts/schemas.js'
import { findUserByEmail, insertUser, markEmailVerified, setPassword } from '../accounts/store.js'
import { endUserSessions } from '../sessions/sessions.js'
import { throttle } from '../throttle.js'
import {
  acceptInvitation as acceptInvitationRow,
  addMember,
  findInvitation,
  findMember,
  insertInvitation,
} from './store.js'

/** Limits the mail that one organization can send to strangers. */
const INVITATIONS_PER_MINUTE = 30

const Invitation = z.object({ email: z.string(), role: Role, createdAt: Timestamp, expiresAt: Timestamp })

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
    const passwordHash = password === undefined ? null : await deps.passwords.hash(password)
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

export const invitationOperations = [inviteMember, acceptInvitation]

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
  // A later invitation of the same address has replaced this one.
  if (invitation === null) return refuse('invalid_token', 'The invitation was replaced by a later one.')
  const { email, organizationId, role } = invitation
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
