import { z } from 'zod'
import type { Deps } from '../api/deps.js'
import { openEnum, Timestamp, timestampOrNull } from '../base/schemas.js'
import { RATES } from '../billing/rating.js'
import { slotLimits } from '../calls/placement/call-slots.js'
import type { Db, Trx } from '../db/database.js'
import { DEFAULT_LIMIT } from '../limits/rate-limiter.js'
import { readOrganizationRows } from '../organization/profile-store.js'
import { ShownSubmission } from '../organization/verification-api.js'
import { latestVerification, unsealDetails } from '../organization/verification-store.js'
import { organizationShape, organizationView } from '../organization/view.js'
import { readWallet } from '../wallet/store.js'
import { Wallet, walletView } from '../wallet/view.js'

const PerEnvironment = z.object({ test: z.int(), live: z.int() })

export const StaffOrganization = z.object({
  ...organizationShape,
  submission: ShownSubmission.nullable(),
  enforcement: z.object({
    blocked: z.boolean(),
    since: Timestamp.nullable(),
    reason: openEnum('kill_switch').nullable(),
  }),
  limits: z.object({
    requestsPerMinute: PerEnvironment,
    agentCalls: PerEnvironment,
    byoCalls: PerEnvironment,
  }),
  ratePaisePerMinute: z.int(),
  trunkingEnabled: z.boolean(),
  wallet: Wallet,
})
export type StaffOrganization = z.input<typeof StaffOrganization>

/** Returns an organization with the fields visible to staff, or null if it does not exist. */
export async function readStaffOrganization(
  deps: Pick<Deps, 'rootKey'>,
  db: Db | Trx,
  organizationId: string,
): Promise<StaffOrganization | null> {
  const stored = await readOrganizationRows(db, organizationId)
  if (stored === null) return null
  const { profile, calling } = stored
  const verification = await latestVerification(db, organizationId)
  const requests = await db
    .selectFrom('requestLimits')
    .select(['environment', 'perMinute'])
    .where('organizationId', '=', organizationId)
    .execute()
  const perMinute = (environment: 'test' | 'live') =>
    requests.find((row) => row.environment === environment)?.perMinute ?? DEFAULT_LIMIT
  const ratePaisePerMinute = calling.ratePaisePerMinute ?? RATES.service
  const test = slotLimits(stored, 'test')
  const live = slotLimits(stored, 'live')
  return {
    ...organizationView(stored, verification),
    submission:
      verification === null ? null : ShownSubmission.parse(unsealDetails(deps.rootKey, verification)),
    enforcement: {
      blocked: calling.enforcedAt !== null,
      since: timestampOrNull(calling.enforcedAt),
      reason: calling.enforcedReason,
    },
    limits: {
      requestsPerMinute: { test: perMinute('test'), live: perMinute('live') },
      agentCalls: { test: test.agentCalls, live: live.agentCalls },
      byoCalls: { test: test.byoCalls, live: live.byoCalls },
    },
    ratePaisePerMinute,
    trunkingEnabled: profile.trunkingEnabled === 1,
    wallet: walletView(
      await readWallet(db, organizationId, stored.organization.createdAt),
      'live',
      ratePaisePerMinute,
    ),
  }
}
