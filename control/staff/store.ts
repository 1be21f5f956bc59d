import { newestFirst, type Page, type PageRequest } from '../api/pagination.js'
import type { Db } from '../db/database.js'
import type { OrganizationRow } from '../db/tables/identity.js'
import type { VerificationStatus } from '../organization/verification-store.js'

/** Returns a page of all organizations, newest first, optionally of one verification state. */
export async function listOrganizations(
  db: Db,
  filter: { readonly verification: VerificationStatus | null },
  page: PageRequest,
): Promise<Page<OrganizationRow>> {
  const { verification } = filter
  let query = db.selectFrom('organizations as o').selectAll('o')
  if (verification !== null) {
    query = query.where(({ exists, not, selectFrom, and }) => {
      const submissions = selectFrom('organizationVerifications as v')
        .select('v.id')
        .whereRef('v.organizationId', '=', 'o.id')
      const open = submissions.where('v.status', 'in', ['submitted', 'verified'])
      switch (verification) {
        case 'unverified':
          return not(exists(submissions))
        case 'rejected':
          return and([exists(submissions), not(exists(open))])
        default:
          return exists(submissions.where('v.status', '=', verification))
      }
    })
  }
  return newestFirst(query, page, { alias: 'o' })
}

/** Returns the organizations for which the kill switch is set. */
export async function filterByKillSwitch(
  db: Db,
  organizationIds: readonly string[],
): Promise<ReadonlySet<string>> {
  if (organizationIds.length === 0) return new Set()
  const rows = await db
    .selectFrom('callingProfiles')
    .select('organizationId')
    .where('organizationId', 'in', organizationIds)
    .where('enforcedAt', 'is not', null)
    .execute()
  return new Set(rows.map((row) => row.organizationId))
}
