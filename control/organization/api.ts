import { z } from 'zod'
import { EngineError } from '../../media/base/errors.js'
import { type AuditFields, listAudit } from '../api/audit.js'
import { audited } from '../api/audited.js'
import { listOperation, operation } from '../api/operation.js'
import { isRefusal, type Refusal, refuse } from '../api/problem.js'
import { ADMIN_ROLES } from '../api/scopes.js'
import type { Json } from '../base/canonical-json.js'
import { oneLine, openEnum, patchBody, Timestamp, timestamp } from '../base/schemas.js'
import { addressProblem, BillingPatch } from '../billing/billing-details.js'
import { hoursOn, type WindowNarrowing } from '../compliance/calling-hours.js'
import type { Policy } from '../config/policy-file.js'
import type { Trx } from '../db/database.js'
import type { AuditEntryRow } from '../db/tables/organization.js'
import { narrowCallingHours } from './calling-hours.js'
import { MONITORING } from './monitoring.js'
import {
  lockOrganization,
  narrowingOf,
  readOrganizationRows,
  type StoredOrganization,
  updateCallingProfile,
  updateOrganizationProfile,
  updateOrganizationRow,
} from './profile-store.js'
import { latestVerification } from './verification-store.js'
import { Organization, organizationView, PURPOSES, readOrganizationView } from './view.js'

const OrganizationPatch = patchBody({
  name: oneLine(80),
  billing: BillingPatch,
  peId: z
    .string()
    .regex(/^\d{19}$/, 'must be the 19 digits of a principal entity id')
    .nullable(),
  robocallMode: z.enum(['off', 'warn', 'block']),
  windowNarrowing: z
    .strictObject({ startMinute: z.int().min(0).max(1440), endMinute: z.int().min(0).max(1440) })
    .partial()
    .nullable(),
  campaignSharePercent: z.int().min(10).max(100),
  monitoring: z
    .strictObject({ test: z.enum(MONITORING), live: z.enum(MONITORING), developers: z.boolean() })
    .partial(),
  requireSecondFactor: z.boolean(),
})
type OrganizationPatch = z.output<typeof OrganizationPatch>

export const readOrganization = operation({
  id: 'readOrganization',
  method: 'get',
  path: '/v1/organization',
  tag: 'Organization',
  summary: 'Get the organization',
  description: 'Returns the organization that the session acts for.',
  audience: 'session',
  status: 200,
  result: Organization,
  fails: [],
  run: async ({ actor, deps }) => required(await readOrganizationView(deps.db, actor.organizationId)),
})

export const updateOrganization = operation({
  id: 'updateOrganization',
  method: 'patch',
  path: '/v1/organization',
  tag: 'Organization',
  summary: 'Update the organization',
  description:
    'Sets the name, billing details, robocall mode, calling hours, the share of agent calls that campaigns may use, who may monitor live calls, and whether members need a second factor. Only a session with a second factor requires it of others.',
  audience: 'session',
  roles: ADMIN_ROLES,
  body: OrganizationPatch,
  status: 200,
  result: Organization,
  fails: ['unprocessable_entity', 'conflict'],
  run: ({ body, actor, deps, requestId }) => {
    return audited({ actor, deps, requestId }, async (trx, record, now) => {
      const before = required(await lockOrganization(trx, actor.organizationId, now))
      if (body.requireSecondFactor === true && !(await isProven(trx, actor.sessionId))) {
        return refuse(
          'conflict',
          'Add a second factor to your own account first. You would shut yourself out of the organization.',
          { path: 'requireSecondFactor' },
        )
      }
      const refusal = await change(trx, before, body, deps.policy.rules, now)
      if (isRefusal(refusal)) return refusal
      const after = required(await readOrganizationRows(trx, actor.organizationId))
      await record('organization.updated', actor.organizationId, {
        before: facts(before),
        after: facts(after),
      })
      return organizationView(after, await latestVerification(trx, actor.organizationId))
    })
  },
})

export const setSenderClassification = operation({
  id: 'setSenderClassification',
  method: 'put',
  path: '/v1/organization/sender-classification',
  tag: 'Organization',
  summary: 'Set the sender classification of the organization',
  description: 'States the purpose of the calls. New agents start with this purpose.',
  audience: 'session',
  roles: ADMIN_ROLES,
  body: z.strictObject({ senderClassification: z.enum(PURPOSES) }),
  status: 200,
  result: Organization,
  fails: [],
  run: ({ body, actor, deps, requestId }) => {
    const { organizationId } = actor
    return audited({ actor, deps, requestId }, async (trx, record, now) => {
      const before = required(await lockOrganization(trx, organizationId, now))
      await updateOrganizationRow(trx, organizationId, body)
      await record('organization.sender_classification_set', organizationId, {
        before: { senderClassification: before.organization.senderClassification },
        after: body,
      })
      return required(await readOrganizationView(trx, organizationId))
    })
  },
})

const AuditEntry = z.object({
  id: z.string(),
  actor: z.object({ type: openEnum('user', 'staff', 'key', 'system'), id: z.string() }),
  action: z
    .string()
    .meta({ description: 'Name of the action, for example organization.updated. New actions may be added.' }),
  subject: z.object({ type: z.string(), id: z.string() }),
  reason: z.string().nullable(),
  before: z.record(z.string(), z.unknown()).nullable(),
  after: z.record(z.string(), z.unknown()).nullable(),
  requestId: z.string().nullable(),
  createdAt: Timestamp,
})

export const listAuditLog = listOperation({
  id: 'listAuditLog',
  path: '/v1/organization/audit-log',
  tag: 'Organization',
  summary: 'List the audit log',
  description: 'Changes by members and by staff, newest first.',
  audience: 'session',
  roles: ADMIN_ROLES,
  result: AuditEntry,
  fails: [],
  run: async ({ actor, deps, page }) => {
    const { items, next } = await listAudit(deps.db, actor.organizationId, page)
    return { items: items.map(auditView), next }
  },
})

export const organizationOperations = [
  readOrganization,
  updateOrganization,
  setSenderClassification,
  listAuditLog,
]

/** Returns the latest hours of commercial calls: those of promotional calls end last. */
function widestHours({ hours }: Policy, now: number): WindowNarrowing {
  const asked = { purpose: 'promotional', environment: 'test', narrowing: null } as const
  return hoursOn({ rules: hours, ...asked }, now) ?? { startMinute: 0, endMinute: 1_440 }
}

/**
 * Applies a PATCH to the organization that `lockOrganization` read. Returns a refusal if the result would
 * be contradictory.
 */
async function change(
  trx: Trx,
  { organization, profile, calling }: StoredOrganization,
  body: OrganizationPatch,
  rules: Policy,
  now: number,
): Promise<Refusal<'unprocessable_entity'> | null> {
  const { billing = {}, windowNarrowing } = body
  const address = {
    stateCode: billing.stateCode === undefined ? profile.billingStateCode : billing.stateCode,
    gstin: billing.gstin === undefined ? profile.billingGstin : billing.gstin,
    sez: billing.sez ?? profile.billingSez === 1,
  }
  const problem = addressProblem(address)
  if (problem !== null) {
    return refuse('unprocessable_entity', problem.message, { path: `billing.${problem.path}` })
  }
  const hours = windowNarrowing
    ? narrowCallingHours(narrowingOf(calling), windowNarrowing, widestHours(rules, now))
    : null
  if (hours !== null && 'message' in hours) {
    return refuse('unprocessable_entity', hours.message, { path: `windowNarrowing.${hours.path}` })
  }
  const { id } = organization
  await updateOrganizationRow(trx, id, body.name === undefined ? {} : { name: body.name })
  await updateOrganizationProfile(trx, id, {
    ...given('billingName', billing.name),
    ...given('billingAddress', billing.address),
    ...given('billingCity', billing.city),
    ...given('billingPincode', billing.pincode),
    ...given('billingStateCode', billing.stateCode),
    ...given('billingGstin', billing.gstin),
    ...given('billingSez', flag(billing.sez)),
    ...given('peId', body.peId),
    ...given('robocallMode', body.robocallMode),
    ...given('campaignSharePercent', body.campaignSharePercent),
    ...given('monitoringTest', body.monitoring?.test),
    ...given('monitoringLive', body.monitoring?.live),
    ...given('developersMonitor', flag(body.monitoring?.developers)),
    ...given('requireSecondFactor', flag(body.requireSecondFactor)),
  })
  if (windowNarrowing !== undefined) {
    await updateCallingProfile(trx, id, {
      windowStartMinute: hours?.startMinute ?? null,
      windowEndMinute: hours?.endMinute ?? null,
    })
  }
  return null
}

/** Returns whether a second factor was proven in a session. */
async function isProven(trx: Trx, sessionId: string): Promise<boolean> {
  const session = await trx
    .selectFrom('sessions')
    .where('id', '=', sessionId)
    .where('factorAt', 'is not', null)
    .select('id')
    .executeTakeFirst()
  return session !== undefined
}

function flag(value: boolean | undefined): number | undefined {
  return value === undefined ? undefined : Number(value)
}

function given<K extends string, V>(column: K, value: V | undefined): { [P in K]?: V } {
  return value === undefined ? {} : ({ [column]: value } as { [P in K]?: V })
}

/** Returns the fields of an organization for the audit log. */
function facts(stored: StoredOrganization): AuditFields {
  const { createdAt: _, verification: __, ...fields } = organizationView(stored, null)
  return fields as AuditFields
}

/** The organization of a session exists, because its membership refers to it. */
function required<T>(found: T | null): T {
  if (found === null) throw new EngineError('internal', 'the organization of a session does not exist')
  return found
}

function auditView(row: AuditEntryRow): z.input<typeof AuditEntry> {
  return {
    id: row.id,
    actor: { type: row.actorType, id: row.actorId },
    action: row.action,
    subject: { type: row.subjectType, id: row.subjectId },
    reason: row.reason,
    before: parseFacts(row.before),
    after: parseFacts(row.after),
    requestId: row.requestId,
    createdAt: timestamp(row.createdAt),
  }
}

function parseFacts(json: string | null): { [field: string]: Json } | null {
  return json === null ? null : JSON.parse(json)
}
