import { z } from 'zod'
import type { AuditFields } from '../api/audit.js'
import { audited } from '../api/audited.js'
import type { Deps } from '../api/deps.js'
import { listOperation, operation } from '../api/operation.js'
import { refuse } from '../api/problem.js'
import { idParam, Timestamp, timestamp } from '../base/schemas.js'
import { endCallsOf } from '../calls/lifecycle/staff-hangups.js'
import type { Trx } from '../db/database.js'
import { setRequestLimit } from '../limits/rate-limit-store.js'
import { updateCallingProfile, updateOrganizationProfile } from '../organization/profile-store.js'
import {
  decideVerification,
  latestVerification,
  latestVerifications,
} from '../organization/verification-store.js'
import { VerificationState, verificationView } from '../organization/view.js'
import { decideSenderId } from './sender-id-api.js'
import { organizationNotFound, performStaffAction, Reason } from './staff-action.js'
import { filterByKillSwitch, listOrganizations as pageOfOrganizations } from './store.js'
import { readStaffOrganization, StaffOrganization } from './view.js'

const OrganizationPath = z.object({ id: idParam('org') })

const OrganizationRow = z.object({
  id: z.string(),
  name: z.string(),
  verification: VerificationState,
  blocked: z.boolean(),
  createdAt: Timestamp,
})

export const listOrganizations = listOperation({
  id: 'listOrganizations',
  path: '/v1/staff/organizations',
  tag: 'Staff',
  summary: 'List organizations',
  description: 'All organizations, newest first.',
  audience: 'staff',
  query: z.object({
    verification: z.enum(['unverified', 'submitted', 'verified', 'rejected']).optional(),
  }),
  result: OrganizationRow,
  fails: [],
  run: async ({ query, deps, page }) => {
    const filter = { verification: query.verification ?? null }
    const { items, next } = await pageOfOrganizations(deps.db, filter, page)
    const ids = items.map((row) => row.id)
    const verifications = await latestVerifications(deps.db, ids)
    const blocked = await filterByKillSwitch(deps.db, ids)
    return {
      items: items.map((row) => ({
        id: row.id,
        name: row.name,
        verification: verificationView(verifications.get(row.id) ?? null),
        blocked: blocked.has(row.id),
        createdAt: timestamp(row.createdAt),
      })),
      next,
    }
  },
})

export const readOrganizationAsStaff = operation({
  id: 'readOrganizationAsStaff',
  method: 'get',
  path: '/v1/staff/organizations/:id',
  tag: 'Staff',
  summary: 'Get an organization',
  description:
    'Includes the verification submission and the granted limits. The access is recorded in the audit log.',
  audience: 'staff',
  params: OrganizationPath,
  status: 200,
  result: StaffOrganization,
  fails: ['not_found'],
  run: async ({ params, actor, deps, requestId }) => {
    const found = await readStaffOrganization(deps, deps.db, params.id)
    if (found === null) return organizationNotFound()
    await audited({ organizationId: params.id, actor, deps, requestId }, (_trx, record) =>
      record('staff.organization_read', params.id, { subject: 'organization' }),
    )
    return found
  },
})

export const decideOrganizationVerification = operation({
  id: 'decideOrganizationVerification',
  method: 'post',
  path: '/v1/staff/organizations/:id/verification-decision',
  tag: 'Staff',
  summary: 'Verify or reject an organization',
  description: 'Decides the pending verification submission.',
  audience: 'staff',
  params: OrganizationPath,
  body: z.strictObject({ decision: z.enum(['verified', 'rejected']), reason: Reason }),
  status: 200,
  result: StaffOrganization,
  fails: ['not_found', 'conflict'],
  run: ({ params, body, ...input }) =>
    performStaffAction(input, params.id, async (trx, stored, now) => {
      const { decision, reason } = body
      const row = await decideVerification(
        trx,
        params.id,
        {
          status: decision,
          staffId: input.actor.userId,
          rejectionReason: decision === 'rejected' ? reason : null,
        },
        now,
      )
      if (row === null) {
        const latest = await latestVerification(trx, params.id)
        return refuse('conflict', 'No verification waits for a decision.', {
          status: latest?.status ?? 'unverified',
        })
      }
      return {
        action: 'staff.verification_decided',
        subject: { type: 'verification', id: row.id },
        reason,
        before: { status: 'submitted' },
        after: { status: decision },
        notice: {
          subject: `Your organization was ${decision === 'verified' ? 'verified' : 'not verified'}`,
          text:
            decision === 'verified'
              ? `${stored.organization.name} is verified now.`
              : `${stored.organization.name} was not verified. The reason: ${reason}\n\nYou can submit it again.`,
        },
      }
    }),
})

/** Values per environment. Null restores the default. */
const perEnvironment = (minimum: number, maximum: number) =>
  z
    .strictObject({
      test: z.int().min(minimum).max(maximum).nullable().optional(),
      live: z.int().min(minimum).max(maximum).nullable().optional(),
    })
    .optional()

const LimitsPatch = z
  .strictObject({
    requestsPerMinute: perEnvironment(1, 1_000_000),
    agentCalls: perEnvironment(0, 10_000),
    byoCalls: perEnvironment(0, 10_000),
    ratePaisePerMinute: z.int().min(0).max(100_000).nullable().optional(),
    trunkingEnabled: z.boolean().optional(),
    reason: Reason,
  })
  .refine((body) => Object.keys(body).length > 1, 'at least one field beside reason is required')
  .meta({ minProperties: 2 })

export const setOrganizationLimits = operation({
  id: 'setOrganizationLimits',
  method: 'patch',
  path: '/v1/staff/organizations/:id/limits',
  tag: 'Staff',
  summary: 'Set the limits of an organization',
  description:
    'Sets the request budget, concurrent calls, the agreed rate and the right to create trunks. Null restores the default.',
  audience: 'staff',
  params: OrganizationPath,
  body: LimitsPatch,
  status: 200,
  result: StaffOrganization,
  fails: ['not_found'],
  run: ({ params, body, ...input }) =>
    performStaffAction(input, params.id, async (trx) => {
      const before = await granted(input.deps, trx, params.id)
      for (const environment of ['test', 'live'] as const) {
        const perMinute = body.requestsPerMinute?.[environment]
        if (perMinute === undefined) continue
        await setRequestLimit(trx, { organizationId: params.id, environment }, perMinute)
      }
      const { agentCalls = {}, byoCalls = {}, ratePaisePerMinute, trunkingEnabled } = body
      await updateCallingProfile(trx, params.id, {
        ...(agentCalls.test === undefined ? {} : { agentCallsTest: agentCalls.test }),
        ...(agentCalls.live === undefined ? {} : { agentCallsLive: agentCalls.live }),
        ...(ratePaisePerMinute === undefined ? {} : { ratePaisePerMinute }),
      })
      await updateOrganizationProfile(trx, params.id, {
        ...(byoCalls.test === undefined ? {} : { byoCallsTest: byoCalls.test }),
        ...(byoCalls.live === undefined ? {} : { byoCallsLive: byoCalls.live }),
        ...(trunkingEnabled === undefined ? {} : { trunkingEnabled: trunkingEnabled ? 1 : 0 }),
      })
      return {
        action: 'staff.limits_set',
        subject: { type: 'organization', id: params.id },
        reason: body.reason,
        before,
        after: await granted(input.deps, trx, params.id),
      }
    }),
})

/** Reason code of calls that the kill switch blocks. */
const KILL_SWITCH = 'kill_switch'

export const setKillSwitch = operation({
  id: 'setKillSwitch',
  method: 'post',
  path: '/v1/staff/organizations/:id/kill-switch',
  tag: 'Staff',
  summary: 'Set the kill switch of an organization',
  description:
    'Blocks or allows new calls. Calls in progress continue, unless `endCalls` is true: their agents then say the hang-up ' +
    'line, and the calls end.',
  audience: 'staff',
  params: OrganizationPath,
  body: z
    .strictObject({
      enforcement: z.boolean(),
      endCalls: z
        .boolean()
        .optional()
        .meta({ description: 'Also ends the calls in progress. Default false.' }),
      reason: Reason,
    })
    .refine(({ enforcement, endCalls }) => enforcement || endCalls !== true, {
      path: ['endCalls'],
      message: 'Only a stop can end calls.',
    }),
  status: 200,
  result: StaffOrganization,
  fails: ['not_found'],
  run: ({ params, body, ...input }) =>
    performStaffAction(input, params.id, async (trx, { calling }, now) => {
      const { enforcement, reason, endCalls = false } = body
      await updateCallingProfile(trx, params.id, {
        // If it is already set, the original time is kept.
        enforcedAt: enforcement ? (calling.enforcedAt ?? now) : null,
        enforcedReason: enforcement ? KILL_SWITCH : null,
      })
      if (endCalls) await endCallsOf(trx, { organizationId: params.id, requestId: input.requestId }, now)
      return {
        action: 'staff.kill_switch_set',
        subject: { type: 'organization', id: params.id },
        reason,
        before: { enforcement: calling.enforcedAt !== null },
        after: { enforcement, ...(endCalls ? { endCalls } : {}) },
        ...(enforcement === (calling.enforcedAt !== null) ? {} : { notice: killSwitchNotice(enforcement) }),
      }
    }),
})

function killSwitchNotice(enforcement: boolean) {
  return enforcement
    ? {
        subject: 'Calling was stopped for your organization',
        text: 'The operator of the service stopped all new calls of your organization. The audit log holds the reason.',
      }
    : {
        subject: 'Your organization may call again',
        text: 'The operator of the service lifted the stop on the calls of your organization.',
      }
}

export const staffOperations = [
  listOrganizations,
  readOrganizationAsStaff,
  decideOrganizationVerification,
  setOrganizationLimits,
  setKillSwitch,
  decideSenderId,
]

/** Returns the fields that `setOrganizationLimits` changes, for the audit log. */
async function granted(deps: Deps, trx: Trx, organizationId: string): Promise<AuditFields> {
  const found = await readStaffOrganization(deps, trx, organizationId)
  if (found === null) return {}
  const { limits, ratePaisePerMinute, trunkingEnabled } = found
  return { ...limits, ratePaisePerMinute, trunkingEnabled }
}
