import { timestamp, timestampOrNull } from '../../base/schemas.js'
import type { Trx } from '../../db/database.js'
import type { GateFacts } from '../check.js'
import type { JsonObject } from './seal.js'
import type { Owner } from './store.js'

/**
 * Returns copies of the consents and the do-not-call entries of a number as they stand, for the erasable part of a
 * record. `names` are the number, and the texts by which do-not-call entries may name it. Returns null if the facts name
 * none.
 */
export async function personCopies(
  trx: Trx,
  { organizationId, environment }: Owner,
  names: readonly string[],
  facts: Pick<GateFacts, 'consent' | 'suppressions'>,
): Promise<JsonObject | null> {
  if (facts.consent === null && facts.suppressions.length === 0) return null
  const consents = await trx
    .selectFrom('consents')
    .selectAll()
    .where('organizationId', '=', organizationId)
    .where('environment', '=', environment)
    .where('e164', 'in', names)
    .where('current', '=', 1)
    .orderBy('id')
    .execute()
  const suppression = await trx
    .selectFrom('suppressions')
    .select(['id', 'source', 'reason', 'callId', 'expiresAt', 'createdAt'])
    .where('organizationId', '=', organizationId)
    // A live entry stays hidden from test keys.
    .where('environment', 'in', environment === 'live' ? ['test', 'live'] : ['test'])
    .where('e164', 'in', names)
    .where('removedAt', 'is', null)
    .orderBy('id')
    .execute()
  return {
    consents: consents.map((row) => ({
      id: row.id,
      purpose: row.purpose,
      kind: row.kind,
      scope: row.scope,
      source: row.source,
      evidenceRef: row.evidenceRef,
      capturedAt: timestamp(row.capturedAt),
      expiresAt: timestampOrNull(row.expiresAt),
      revokedAt: timestampOrNull(row.revokedAt),
      revokedReason: row.revokedReason,
    })),
    suppression: suppression.map((row) => ({
      id: row.id,
      source: row.source,
      reason: row.reason,
      callId: row.callId,
      expiresAt: timestampOrNull(row.expiresAt),
      createdAt: timestamp(row.createdAt),
    })),
  }
}
