import { newId } from '../../media/base/ids.js'
import { canonicalJson, type Json } from '../base/canonical-json.js'
import { seal, unsealWithAnyKey } from '../base/crypto.js'
import type { RootKey } from '../base/root-key.js'
import type { Db, Trx } from '../db/database.js'
import type { OrganizationVerificationRow } from '../db/tables/organization.js'

export type VerificationStatus = 'unverified' | 'submitted' | 'verified' | 'rejected'

/** Returns the latest submission of each organization that has one. */
export async function latestVerifications(
  db: Db | Trx,
  organizationIds: readonly string[],
): Promise<ReadonlyMap<string, OrganizationVerificationRow>> {
  const latest = new Map<string, OrganizationVerificationRow>()
  if (organizationIds.length === 0) return latest
  const rows = await db
    .selectFrom('organizationVerifications')
    .selectAll()
    .where('organizationId', 'in', organizationIds)
    .orderBy('submittedAt')
    .orderBy('id')
    .execute()
  for (const row of rows) latest.set(row.organizationId, row)
  return latest
}

export async function latestVerification(
  db: Db | Trx,
  organizationId: string,
): Promise<OrganizationVerificationRow | null> {
  return (await latestVerifications(db, [organizationId])).get(organizationId) ?? null
}

/**
 * Stores an encrypted submission. Returns null if one is pending or granted. Of concurrent submissions one
 * is stored.
 */
export async function submitVerification(
  trx: Trx,
  rootKey: RootKey,
  submission: { readonly organizationId: string; readonly userId: string; readonly details: Json },
  now: number,
): Promise<OrganizationVerificationRow | null> {
  const id = newId('vrf', now)
  const row = await trx
    .insertInto('organizationVerifications')
    .values({
      id,
      organizationId: submission.organizationId,
      status: 'submitted',
      details: seal(rootKey.subkey('verification-encryption'), canonicalJson(submission.details), id),
      submittedBy: submission.userId,
      submittedAt: now,
      decidedBy: null,
      decidedAt: null,
      rejectionReason: null,
    })
    .onConflict((conflict) => conflict.doNothing())
    .returningAll()
    .executeTakeFirst()
  return row ?? null
}

/** Decides the pending submission. Returns null if none is pending. */
export async function decideVerification(
  trx: Trx,
  organizationId: string,
  decision: {
    readonly status: 'verified' | 'rejected'
    readonly staffId: string
    readonly rejectionReason: string | null
  },
  now: number,
): Promise<OrganizationVerificationRow | null> {
  const row = await trx
    .updateTable('organizationVerifications')
    .set({
      status: decision.status,
      decidedBy: decision.staffId,
      decidedAt: now,
      rejectionReason: decision.rejectionReason,
    })
    .where('organizationId', '=', organizationId)
    .where('status', '=', 'submitted')
    .returningAll()
    .executeTakeFirst()
  return row ?? null
}

/**
 * Decrypts the submitted details. Throws EngineError `storage_failed` if they were encrypted with an
 * unknown root key.
 */
export function unsealDetails(rootKey: RootKey, row: OrganizationVerificationRow): unknown {
  return JSON.parse(unsealWithAnyKey(rootKey, 'verification-encryption', row.details, row.id))
}
