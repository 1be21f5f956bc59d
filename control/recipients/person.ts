import type { Db } from '../db/database.js'
import type { CallRow } from '../db/tables/calling.js'

/** Time until a person who is on a call is looked at again (ms). */
const ON_CALL_MS = 30_000

/**
 * Returns until when (Unix ms) a person may not be called by campaigns and callbacks: while such a call is under way,
 * and for `gapMs` after one of another campaign began. Retries of one campaign have their own intervals. Null if the
 * person may be called.
 */
export async function busyUntil(
  db: Db,
  owner: Pick<CallRow, 'organizationId' | 'environment'>,
  person: { readonly e164: string; readonly campaignId: string | null; readonly gapMs: number },
  now: number,
): Promise<number | null> {
  const recent = await db
    .selectFrom('calls')
    .select(['campaignId', 'startedAt', 'endedAt'])
    .where('organizationId', '=', owner.organizationId)
    .where('environment', '=', owner.environment)
    .where('toNumber', '=', person.e164)
    .where((column) =>
      column.or([column('campaignId', 'is not', null), column('callbackId', 'is not', null)]),
    )
    .orderBy('startedAt', 'desc')
    .limit(5)
    .execute()
  if (recent.some(({ endedAt }) => endedAt === null)) return now + ON_CALL_MS
  const other = recent.find(({ campaignId }) => campaignId === null || campaignId !== person.campaignId)
  const freeAt = (other?.startedAt ?? 0) + person.gapMs
  return other !== undefined && freeAt > now ? freeAt : null
}
