import { z } from 'zod'
import { parseCidr } from '../../signalling/trunk/cidr.js'
import type { StaffActor } from '../api/actor.js'
import { recorder } from '../api/audited.js'
import type { Deps } from '../api/deps.js'
import { listOperation, operation } from '../api/operation.js'
import { isRefusal, type Refusal, refuse } from '../api/problem.js'
import { idParam, openEnum, Timestamp, timestamp, timestampOrNull } from '../base/schemas.js'
import type { Trx } from '../db/database.js'
import type { SipAccessRequestRow, SipTrunkRow } from '../db/tables/trunks.js'
import { queueMailToAdmins } from '../mail/outbox.js'
import { lockOrganization, updateOrganizationProfile } from '../organization/profile-store.js'
import { decideAccessRequest, findAccessRequest, listAccessRequests } from '../trunks/access-store.js'
import { approveRanges, refuseOverlap } from '../trunks/claims.js'
import { NO_CONTACTS } from '../trunks/contacts.js'
import { auditFields } from '../trunks/manage-trunk.js'
import { findAnyTrunk, lockTrunk, type TrunkChange, updateTrunk } from '../trunks/store.js'
import { claimedOf, pendingOf, rangesOf } from '../trunks/trunk-route.js'
import { MAX_RANGES } from '../trunks/trunk-settings.js'
import { SipTrunk, trunkView } from '../trunks/view.js'
import { Reason } from './staff-action.js'

const AccessRequest = z.object({
  id: z.string(),
  organizationId: z.string(),
  message: z.string(),
  status: openEnum('pending', 'approved', 'rejected'),
  rejectionReason: z.string().nullable(),
  requestedAt: Timestamp,
  reviewedAt: Timestamp.nullable(),
})

const accessRequestView = (row: SipAccessRequestRow): z.input<typeof AccessRequest> => ({
  id: row.id,
  organizationId: row.organizationId,
  message: row.message,
  status: row.status,
  rejectionReason: row.rejectionReason,
  requestedAt: timestamp(row.createdAt),
  reviewedAt: timestampOrNull(row.reviewedAt),
})

const COMMON = { tag: 'Staff', audience: 'staff' } as const

const listSipAccessRequests = listOperation({
  ...COMMON,
  id: 'listSipAccessRequests',
  path: '/v1/staff/sip-access-requests',
  summary: 'List requests for access to SIP trunks',
  description: 'Requests of all organizations, newest first.',
  query: z.object({ status: z.enum(['pending', 'approved', 'rejected']).optional() }),
  result: AccessRequest,
  fails: [],
  run: async ({ query, deps, page }) => {
    const { items, next } = await listAccessRequests(deps.db, { status: query.status ?? null }, page)
    return { items: items.map(accessRequestView), next }
  },
})

const decideSipAccessRequest = operation({
  ...COMMON,
  id: 'decideSipAccessRequest',
  method: 'post',
  path: '/v1/staff/sip-access-requests/:id/decision',
  summary: 'Approve or reject a request for access to SIP trunks',
  description: 'An approval allows the organization to create trunks, once it is verified.',
  params: z.object({ id: idParam('sar') }),
  body: z.strictObject({ decision: z.enum(['approved', 'rejected']), reason: Reason }),
  status: 200,
  result: AccessRequest,
  fails: ['not_found', 'conflict'],
  run: async ({ params, body, actor, deps, requestId }) => {
    const now = deps.clock.wall()
    const { decision, reason } = body
    const outcome = await deps.db.transaction().execute(async (trx) => {
      const before = await findAccessRequest(trx, params.id)
      if (before === null) return refuse('not_found', 'The request does not exist.')
      const { organizationId } = before
      await lockOrganization(trx, organizationId, now)
      const rejected = decision === 'rejected'
      const row = await decideAccessRequest(
        trx,
        params.id,
        { status: decision, rejectionReason: rejected ? reason : null, reviewedBy: actor.userId },
        now,
      )
      if (row === null) {
        return refuse('conflict', 'The request was decided before.', { status: before.status })
      }
      if (!rejected) await updateOrganizationProfile(trx, organizationId, { trunkingEnabled: 1 })
      const record = recorder(trx, { organizationId, actor, requestId }, now)
      const change = { before: { status: before.status }, after: { status: decision } }
      await record('staff.sip_access_decided', row.id, { subject: 'sip_access', reason, ...change })
      await queueMailToAdmins(trx, now, organizationId, {
        kind: 'notice',
        subject: `Your request for SIP trunks was ${decision}`,
        text: rejected
          ? `The request was rejected. The reason: ${reason}`
          : 'Your organization can create SIP trunks now.',
      })
      return accessRequestView(row)
    })
    deps.mail.wake()
    return outcome
  },
})

interface TrunkAction {
  readonly action: `staff.${string}`
  readonly reason: string
  /** Returns the change of the locked trunk. `found` is the trunk before the lock, with the time of its last change. */
  change(trunk: SipTrunkRow, now: number, found: SipTrunkRow): TrunkChange | Refusal<'conflict'>
  /** Claims the addresses of the changed trunk, or refuses. */
  claim?(trx: Trx, trunk: SipTrunkRow): Promise<Refusal<'conflict'> | null>
  /** Text of the mail to owners and admins. */
  readonly notice?: string
}

/** Changes a trunk of any organization and records it in the audit log in the same transaction. */
async function changeAsStaff(
  input: { readonly actor: StaffActor; readonly deps: Deps; readonly requestId: string },
  id: string,
  { action, reason, change, claim, notice }: TrunkAction,
): Promise<z.input<typeof SipTrunk> | Refusal> {
  const { actor, deps, requestId } = input
  const now = deps.clock.wall()
  const row = await deps.db
    .transaction()
    .execute(async (trx: Trx) => {
      const found = await findAnyTrunk(trx, id)
      if (found === null) return noTrunk()
      const before = await lockTrunk(trx, found, id, now)
      if (before === null) return noTrunk()
      const columns = change(before, now, found)
      // Undoes the lock, which notes a change.
      if (isRefusal(columns)) throw new Refused(columns)
      const changed = (await updateTrunk(trx, before, id, columns, null)) ?? before
      const refusal = (await claim?.(trx, changed)) ?? null
      if (refusal !== null) throw new Refused(refusal)
      const after = (await findAnyTrunk(trx, id)) ?? changed
      const { organizationId } = before
      const fields = { before: auditFields(before), after: auditFields(after) }
      const record = recorder(trx, { organizationId, actor, requestId }, now)
      await record(action, id, { subject: 'sip_trunk', reason, ...fields })
      if (notice !== undefined) {
        const text = `${notice} Trunk: ${before.name}. The reason: ${reason}`
        await queueMailToAdmins(trx, now, organizationId, { kind: 'notice', subject: notice, text })
      }
      return after
    })
    .catch((error: unknown) => {
      if (error instanceof Refused) return error.refusal
      throw error
    })
  deps.mail.wake()
  return isRefusal(row) ? row : trunkView(row, deps.sipGateway, deps.clock.wall())
}

/** Undoes the transaction. */
class Refused extends Error {
  readonly refusal: Refusal<'conflict'>

  constructor(refusal: Refusal<'conflict'>) {
    super('refused')
    this.refusal = refusal
  }
}

const noTrunk = () => refuse('not_found', 'The SIP trunk does not exist.')
const wrongState = (message: string, { status }: SipTrunkRow) => refuse('conflict', message, { status })

const TRUNK = {
  ...COMMON,
  params: z.object({ id: idParam('trk') }),
  status: 200,
  result: SipTrunk,
  fails: ['not_found', 'conflict'],
} as const

const Reviewed = z.array(z.string().max(50)).max(MAX_RANGES).optional().meta({
  description:
    'The complete `ipAcl` that was reviewed. Answers 409 if the trunk has another list now. Required if addresses wait in `ipAclPending` and the trunk was changed after its creation.',
})

/**
 * Refuses an approval of addresses that staff did not review. The customer may have changed them since. The addresses of
 * a trunk that never changed are the reviewed ones.
 */
function refuseUnreviewed(
  trunk: SipTrunkRow,
  found: SipTrunkRow,
  reviewed: readonly string[] | undefined,
): Refusal<'conflict'> | null {
  const ipAcl = rangesOf(trunk).map(({ text }) => text)
  const details = { path: 'ipAcl', ipAcl }
  if (reviewed === undefined) {
    const isUnchanged = found.updatedAt === found.createdAt && found.ipAcl === trunk.ipAcl
    if (isUnchanged || pendingOf(trunk).length === 0) return null
    return refuse('conflict', 'The trunk was changed. Review details.ipAcl, and send it as ipAcl.', details)
  }
  const named = new Set(reviewed.map((text) => parseCidr(text)?.text ?? text))
  if (named.size === ipAcl.length && ipAcl.every((text) => named.has(text))) return null
  return refuse(
    'conflict',
    'The trunk has other addresses. Review details.ipAcl, and send it as ipAcl.',
    details,
  )
}

const approveSipTrunk = operation({
  ...TRUNK,
  id: 'approveSipTrunk',
  method: 'post',
  path: '/v1/staff/sip-trunks/:id/approve',
  summary: 'Approve a SIP trunk or its new addresses',
  description:
    'The trunk carries calls from now on, and each address of `ipAcl` identifies its telephone system. Approve an active trunk again when it has `ipAclPending`. Answers 409 when another organization claims one of the addresses, or when the trunk has other addresses than the reviewed ones.',
  body: z.strictObject({ reason: Reason, ipAcl: Reviewed }),
  run: ({ params, body, ...input }) =>
    changeAsStaff(input, params.id, {
      action: 'staff.sip_trunk_approved',
      reason: body.reason,
      notice: 'Your SIP trunk was approved.',
      change: (trunk, now, found) =>
        trunk.status === 'pending_verification' || (trunk.status === 'active' && pendingOf(trunk).length > 0)
          ? (refuseUnreviewed(trunk, found, body.ipAcl) ?? { status: 'active', approvedAt: now })
          : wrongState('Only a trunk that waits, or whose addresses wait, can be approved.', trunk),
      claim: approveRanges,
    }),
})

const disableSipTrunk = operation({
  ...TRUNK,
  id: 'disableSipTrunk',
  method: 'post',
  path: '/v1/staff/sip-trunks/:id/disable',
  summary: 'Disable a SIP trunk',
  description:
    'The trunk carries no new calls, its registration at the carrier ends within seconds, and so does that of its telephone system here. Calls in progress continue.',
  body: z.strictObject({ reason: Reason }),
  run: ({ params, body, ...input }) =>
    changeAsStaff(input, params.id, {
      action: 'staff.sip_trunk_disabled',
      reason: body.reason,
      notice: 'Your SIP trunk was disabled.',
      change: () => ({ status: 'disabled', disabledReason: body.reason, contacts: NO_CONTACTS }),
    }),
})

const enableSipTrunk = operation({
  ...TRUNK,
  id: 'enableSipTrunk',
  method: 'post',
  path: '/v1/staff/sip-trunks/:id/enable',
  summary: 'Enable a SIP trunk',
  description: 'A disabled trunk carries calls again.',
  body: z.strictObject({ reason: Reason }),
  run: ({ params, body, ...input }) =>
    changeAsStaff(input, params.id, {
      action: 'staff.sip_trunk_enabled',
      reason: body.reason,
      notice: 'Your SIP trunk was enabled.',
      change: (trunk, now) =>
        trunk.status === 'disabled'
          ? { status: 'active', disabledReason: null, approvedAt: trunk.approvedAt ?? now }
          : wrongState('Only a disabled trunk can be enabled.', trunk),
      // Another organization may have claimed its addresses since.
      claim: (trx, trunk) => refuseOverlap(trx, trunk, claimedOf(trunk)),
    }),
})

const setSipTrunkRights = operation({
  ...TRUNK,
  id: 'setSipTrunkRights',
  method: 'patch',
  path: '/v1/staff/sip-trunks/:id',
  summary: 'Set the rights of a SIP trunk',
  description:
    'With `allowOrigination` the customer’s telephone system may call numbers that the service does not host, and spend `originationBudgetPaise` a day with each number it shows (null: no limit).',
  body: z.strictObject({
    allowOrigination: z.boolean(),
    originationBudgetPaise: z.int().min(0).max(1_000_000_000).nullable().optional(),
    reason: Reason,
  }),
  run: ({ params, body, ...input }) =>
    changeAsStaff(input, params.id, {
      action: 'staff.sip_trunk_rights_set',
      reason: body.reason,
      change: () => ({
        allowOrigination: body.allowOrigination ? 1 : 0,
        ...(body.originationBudgetPaise === undefined
          ? {}
          : { originationBudgetPaise: body.originationBudgetPaise }),
      }),
    }),
})

export const staffSipOperations = [
  listSipAccessRequests,
  decideSipAccessRequest,
  approveSipTrunk,
  disableSipTrunk,
  enableSipTrunk,
  setSipTrunkRights,
]
