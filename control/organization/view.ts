import { z } from 'zod'
import { openEnum, Timestamp, timestamp, timestampOrNull } from '../base/schemas.js'
import { DEFAULT_ROBOCALL_MODE } from '../compliance/policy.js'
import type { Db, Trx } from '../db/database.js'
import type { OrganizationVerificationRow } from '../db/tables/organization.js'
import { MONITORING, monitoringOf } from './monitoring.js'
import {
  DEFAULT_CAMPAIGN_SHARE,
  narrowingOf,
  readOrganizationRows,
  type StoredOrganization,
} from './profile-store.js'
import { latestVerification } from './verification-store.js'

export const PURPOSES = ['promotional', 'service', 'transactional', 'collections'] as const

export const VerificationState = z.object({
  status: openEnum('unverified', 'submitted', 'verified', 'rejected'),
  submittedAt: Timestamp.nullable(),
  decidedAt: Timestamp.nullable(),
  rejectionReason: z.string().nullable(),
})

export const organizationShape = {
  id: z.string(),
  name: z.string(),
  billing: z.object({
    name: z.string().nullable(),
    address: z.string().nullable(),
    city: z.string().nullable(),
    pincode: z.string().nullable(),
    stateCode: z.string().nullable(),
    gstin: z.string().nullable(),
    sez: z.boolean().meta({ description: 'True for a unit or a developer of a special economic zone.' }),
  }),
  senderClassification: openEnum(...PURPOSES)
    .nullable()
    .meta({ description: 'Purpose of calls that new agents start with. Null is treated as promotional.' }),
  verification: VerificationState,
  peId: z
    .string()
    .nullable()
    .meta({ description: 'Principal entity ID in the DLT registers of the access providers.' }),
  robocallMode: openEnum('off', 'warn', 'block'),
  windowNarrowing: z.object({ startMinute: z.int(), endMinute: z.int() }).nullable().meta({
    description:
      'Narrower calling hours of the organization for commercial calls, in minutes after midnight IST.',
  }),
  campaignSharePercent: z.int(),
  monitoring: z
    .object({ test: openEnum(...MONITORING), live: openEnum(...MONITORING), developers: z.boolean() })
    .meta({
      description:
        'What people may do with live calls of each environment: owners and admins, and with `developers` developers. A call that may be monitored begins with the recording notice of its agent.',
    }),
  requireSecondFactor: z.boolean().meta({
    description:
      'True if members act for the organization only in sessions with a second factor. API keys are not affected.',
  }),
  createdAt: Timestamp,
}
export const Organization = z.object(organizationShape)
export type Organization = z.input<typeof Organization>

/** Returns the API view of an organization, or null if it does not exist. */
export async function readOrganizationView(
  db: Db | Trx,
  organizationId: string,
): Promise<Organization | null> {
  const stored = await readOrganizationRows(db, organizationId)
  if (stored === null) return null
  return organizationView(stored, await latestVerification(db, organizationId))
}

export function organizationView(
  { organization, profile, calling }: StoredOrganization,
  verification: OrganizationVerificationRow | null,
): Organization {
  return {
    id: organization.id,
    name: organization.name,
    billing: {
      name: profile.billingName,
      address: profile.billingAddress,
      city: profile.billingCity,
      pincode: profile.billingPincode,
      stateCode: profile.billingStateCode,
      gstin: profile.billingGstin,
      sez: profile.billingSez === 1,
    },
    senderClassification: organization.senderClassification,
    verification: verificationView(verification),
    peId: profile.peId,
    robocallMode: profile.robocallMode ?? DEFAULT_ROBOCALL_MODE,
    windowNarrowing: narrowingOf(calling),
    campaignSharePercent: profile.campaignSharePercent ?? DEFAULT_CAMPAIGN_SHARE,
    monitoring: monitoringOf(profile),
    requireSecondFactor: profile.requireSecondFactor === 1,
    createdAt: timestamp(organization.createdAt),
  }
}

export function verificationView(row: OrganizationVerificationRow | null): z.input<typeof VerificationState> {
  return {
    status: row?.status ?? 'unverified',
    submittedAt: timestampOrNull(row?.submittedAt ?? null),
    decidedAt: timestampOrNull(row?.decidedAt ?? null),
    rejectionReason: row?.rejectionReason ?? null,
  }
}
