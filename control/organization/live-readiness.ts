import { istDate } from '../compliance/calling-hours.js'
import { DEFAULT_ROBOCALL_MODE } from '../compliance/policy.js'
import type { Db, Trx } from '../db/database.js'
import { readOrganizationRows } from './profile-store.js'
import { latestVerification } from './verification-store.js'

/** Requirements that an organization must meet before it may place live calls. */
export type MissingRequirement =
  | 'organization_verification'
  | 'sender_classification'
  | 'billing_details'
  | 'robocall_declaration'

/** Returns the requirements that an organization does not meet at `now` (Unix ms), in a fixed order. */
export async function missingForLive(
  db: Db | Trx,
  organizationId: string,
  now: number,
): Promise<readonly MissingRequirement[]> {
  const stored = await readOrganizationRows(db, organizationId)
  const verification = await latestVerification(db, organizationId)
  const profile = stored?.profile ?? null
  const billed = [profile?.billingName, profile?.billingAddress, profile?.billingStateCode]
  // A declaration is required in the mode `block` only.
  const mode = profile?.robocallMode ?? DEFAULT_ROBOCALL_MODE
  const declarationOk = mode !== 'block' || (await hasDeclaration(db, organizationId, istDate(now)))
  const missing: MissingRequirement[] = []
  if (verification?.status !== 'verified') missing.push('organization_verification')
  if ((stored?.organization.senderClassification ?? null) === null) missing.push('sender_classification')
  if (billed.some((field) => (field ?? null) === null)) missing.push('billing_details')
  if (!declarationOk) missing.push('robocall_declaration')
  return missing
}

/** Returns true if a declaration is in force on an ISO day. */
async function hasDeclaration(db: Db | Trx, organizationId: string, day: string): Promise<boolean> {
  const row = await db
    .selectFrom('robocallDeclarations')
    .select('id')
    .where('organizationId', '=', organizationId)
    .where('withdrawnAt', 'is', null)
    .where('effectiveFrom', '<=', day)
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}
