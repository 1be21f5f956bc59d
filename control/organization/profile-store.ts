import type { WindowNarrowing } from '../compliance/calling-hours.js'
import type { Db, Trx } from '../db/database.js'
import type { CallingProfileRow } from '../db/tables/calling.js'
import type { OrganizationRow } from '../db/tables/identity.js'
import type { OrganizationProfileRow } from '../db/tables/organization.js'

/** Stored data of an organization. Parts without a row have their defaults. */
export interface StoredOrganization {
  readonly organization: OrganizationRow
  readonly profile: OrganizationProfileRow
  readonly calling: CallingProfileRow
}

/** Default share of agent calls for campaigns (percent). */
export const DEFAULT_CAMPAIGN_SHARE = 70

export async function readOrganizationRows(
  db: Db | Trx,
  organizationId: string,
): Promise<StoredOrganization | null> {
  const organization = await db
    .selectFrom('organizations')
    .selectAll()
    .where('id', '=', organizationId)
    .executeTakeFirst()
  if (organization === undefined) return null
  const profile = await db
    .selectFrom('organizationProfiles')
    .selectAll()
    .where('organizationId', '=', organizationId)
    .executeTakeFirst()
  const calling = await db
    .selectFrom('callingProfiles')
    .selectAll()
    .where('organizationId', '=', organizationId)
    .executeTakeFirst()
  return {
    organization,
    profile: profile ?? emptyProfile(organizationId),
    calling: calling ?? emptyCalling(organizationId),
  }
}

/**
 * Reads an organization and locks it until the end of the transaction, so that concurrent changes wait.
 * Returns null if it does not exist.
 */
export async function lockOrganization(
  trx: Trx,
  organizationId: string,
  now: number,
): Promise<StoredOrganization | null> {
  const known = await trx
    .selectFrom('organizations')
    .select('id')
    .where('id', '=', organizationId)
    .executeTakeFirst()
  if (known === undefined) return null
  await trx
    .insertInto('organizationProfiles')
    .values({ ...emptyProfile(organizationId), revision: 1, updatedAt: now })
    .onConflict((conflict) =>
      conflict.column('organizationId').doUpdateSet((eb) => ({
        revision: eb('organizationProfiles.revision', '+', 1),
        updatedAt: now,
      })),
    )
    .execute()
  return readOrganizationRows(trx, organizationId)
}

export type ProfileChange = Partial<Omit<OrganizationProfileRow, 'organizationId' | 'revision' | 'updatedAt'>>

/** Updates the profile of an organization locked by `lockOrganization`. */
export async function updateOrganizationProfile(
  trx: Trx,
  organizationId: string,
  change: ProfileChange,
): Promise<void> {
  if (Object.keys(change).length === 0) return
  await trx
    .updateTable('organizationProfiles')
    .set(change)
    .where('organizationId', '=', organizationId)
    .execute()
}

export async function updateOrganizationRow(
  trx: Trx,
  organizationId: string,
  change: Partial<Pick<OrganizationRow, 'name' | 'senderClassification'>>,
): Promise<void> {
  if (Object.keys(change).length === 0) return
  await trx.updateTable('organizations').set(change).where('id', '=', organizationId).execute()
}

/** Updates the calling profile of an organization, or inserts it. */
export async function updateCallingProfile(
  trx: Trx,
  organizationId: string,
  change: Partial<Omit<CallingProfileRow, 'organizationId'>>,
): Promise<void> {
  if (Object.keys(change).length === 0) return
  await trx
    .insertInto('callingProfiles')
    .values({ ...emptyCalling(organizationId), ...change })
    .onConflict((conflict) => conflict.column('organizationId').doUpdateSet(change))
    .execute()
}

/** Returns the calling hours set by the organization, or null. */
export function narrowingOf(calling: CallingProfileRow): WindowNarrowing | null {
  const { windowStartMinute, windowEndMinute } = calling
  if (windowStartMinute === null || windowEndMinute === null) return null
  return { startMinute: windowStartMinute, endMinute: windowEndMinute }
}

function emptyProfile(organizationId: string): OrganizationProfileRow {
  return {
    organizationId,
    billingName: null,
    billingAddress: null,
    billingCity: null,
    billingPincode: null,
    billingStateCode: null,
    billingGstin: null,
    billingSez: 0,
    peId: null,
    robocallMode: null,
    campaignSharePercent: null,
    byoCallsTest: null,
    byoCallsLive: null,
    trunkingEnabled: 0,
    monitoringTest: null,
    monitoringLive: null,
    developersMonitor: 0,
    requireSecondFactor: 0,
    revision: 0,
    updatedAt: 0,
  }
}

function emptyCalling(organizationId: string): CallingProfileRow {
  return {
    organizationId,
    enforcedAt: null,
    enforcedReason: null,
    windowStartMinute: null,
    windowEndMinute: null,
    agentCallsTest: null,
    agentCallsLive: null,
    ratePaisePerMinute: null,
  }
}
