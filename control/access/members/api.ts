import { z } from 'zod'
import type { SessionActor } from '../../api/actor.js'
import { audited, type RecordChange } from '../../api/audited.js'
import type { Deps } from '../../api/deps.js'
import { listOperation, operation } from '../../api/operation.js'
import { type Refusal, refuse } from '../../api/problem.js'
import { ADMIN_ROLES, refuseAboveRole } from '../../api/scopes.js'
import { idParam, Timestamp, timestamp } from '../../base/schemas.js'
import type { Trx } from '../../db/database.js'
import type { Role as RoleName } from '../../db/tables/identity.js'
import { Role, RoleInput } from '../accounts/schemas.js'
import {
  deleteInvitationsBeyond,
  findMember,
  invitationId,
  isLastOwner,
  listMembers as listMemberRows,
  lockMembers,
  type Member as MemberView,
  removeMember as removeMemberRow,
  setRole,
} from './store.js'

const MemberPath = z.object({ userId: idParam('usr') })

const Member = z.object({
  userId: z.string(),
  email: z.string(),
  name: z.string(),
  role: Role,
  hasSecondFactor: z.boolean().nullable().meta({
    description:
      'Whether the member signs in with a second factor. Null if your role does not manage members.',
  }),
  createdAt: Timestamp,
})

export const listMembers = listOperation({
  id: 'listMembers',
  path: '/v1/organization/members',
  tag: 'Organization',
  summary: 'List members',
  description: 'Newest first.',
  audience: 'session',
  result: Member,
  fails: [],
  run: async ({ actor, deps, page }) => {
    const { items, next } = await listMemberRows(deps.db, actor.organizationId, page)
    return { items: items.map((member) => memberView(member, actor)), next }
  },
})

export const changeMemberRole = operation({
  id: 'changeMemberRole',
  method: 'patch',
  path: '/v1/organization/members/:userId',
  tag: 'Organization',
  summary: 'Change the role of a member',
  description:
    'The scopes of the API keys that the member created change with the role immediately. Open invitations that the new role may not make are revoked.',
  audience: 'session',
  roles: ADMIN_ROLES,
  params: MemberPath,
  body: z.strictObject({ role: RoleInput }),
  status: 200,
  result: Member,
  fails: ['not_found', 'forbidden', 'conflict'],
  run: ({ params, body, ...input }) =>
    changeMember(input, params.userId, body.role, async (trx, record, member) => {
      await setRole(trx, input.actor.organizationId, member.userId, body.role)
      await record('member.role_changed', member.userId, {
        before: { role: member.role },
        after: { role: body.role },
      })
      await revokeInvitationsBeyond(trx, record, { ...member, role: body.role })
      return memberView({ ...member, role: body.role }, input.actor)
    }),
})

export const removeMember = operation({
  id: 'removeMember',
  method: 'delete',
  path: '/v1/organization/members/:userId',
  tag: 'Organization',
  summary: 'Remove a member',
  description:
    'API keys that the member created lose all scopes, and open invitations of the member are revoked.',
  audience: 'session',
  roles: ADMIN_ROLES,
  params: MemberPath,
  status: 204,
  fails: ['not_found', 'forbidden', 'conflict'],
  run: ({ params, ...input }) =>
    changeMember(input, params.userId, null, async (trx, record, member) => {
      await removeMemberRow(trx, input.actor.organizationId, member.userId)
      await record('member.removed', member.userId, { before: { role: member.role } })
      await revokeInvitationsBeyond(trx, record, { ...member, role: null })
      return undefined
    }),
})

export const memberOperations = [listMembers, changeMemberRole, removeMember]

/**
 * Changes a member's role, or removes the member when `role` is null, under a lock. Only owners manage
 * owners, and one owner always stays.
 */
async function changeMember<T>(
  input: { readonly deps: Deps; readonly actor: SessionActor; readonly requestId: string },
  userId: string,
  role: RoleName | null,
  change: (trx: Trx, record: RecordChange, member: MemberView) => Promise<T>,
): Promise<T | Refusal> {
  const { actor } = input
  const { organizationId } = actor
  return audited(input, async (trx, record): Promise<T | Refusal> => {
    await lockMembers(trx, organizationId)
    const acting = await findMember(trx, organizationId, actor.userId)
    const member = await findMember(trx, organizationId, userId)
    if (member === null) return refuse('not_found', 'The member does not exist.')
    // Read again under the lock: the actor may have been demoted since the request was admitted.
    if (acting === null || !ADMIN_ROLES.includes(acting.role))
      return refuse('forbidden', 'Your role has changed and no longer allows this. Sign in again.')
    const denied =
      refuseAboveRole(acting, member.role) ?? (role === null ? null : refuseAboveRole(acting, role))
    if (denied !== null) return denied
    if (member.role === 'owner' && role !== 'owner' && (await isLastOwner(trx, organizationId, userId))) {
      return refuse('conflict', 'An organization needs at least one owner: make another member owner first.')
    }
    return change(trx, record, member)
  })
}

/** Revokes the open invitations of a member that the new role, or null after the removal, may not make. */
async function revokeInvitationsBeyond(
  trx: Trx,
  record: RecordChange,
  inviter: { readonly organizationId: string; readonly userId: string; readonly role: RoleName | null },
): Promise<void> {
  for (const { id, email, role } of await deleteInvitationsBeyond(trx, inviter)) {
    await record('invitation.revoked', invitationId(id), { before: { email, role } })
  }
}

/** Returns a member as the API shows it. Only readers who manage members learn who has no second factor. */
function memberView(
  { userId, email, name, role, factors, createdAt }: MemberView,
  reader: Pick<SessionActor, 'role'>,
): z.input<typeof Member> {
  const hasSecondFactor = ADMIN_ROLES.includes(reader.role) ? Number(factors) > 0 : null
  return { userId, email, name, role, hasSecondFactor, createdAt: timestamp(createdAt) }
}
