import { z } from 'zod'
import { recorder } from '../../api/audited.js'
import type { Deps } from '../../api/deps.js'
import { operation } from '../../api/operation.js'
import { openEnum } from '../../base/schemas.js'
import { queueMailToAdmins } from '../../mail/outbox.js'
import { ownScheme } from '../signature.js'
import { keyHashes } from './api-keys.js'
import { keyEnvironment } from './key-format.js'

const Report = z.strictObject({
  /** The text that looks like a key. */
  token: z.string().min(1).max(200),
  /** Location of the text. */
  url: z.string().max(2048).optional(),
})

type Outcome = 'revoked' | 'already_revoked' | 'unknown'

/** Both test and live keys are revoked at once. */
export const reportLeakedKeys = operation({
  id: 'reportLeakedKeys',
  method: 'post',
  path: '/v1/secret-scanning/reports',
  tag: 'Public',
  summary: 'Report leaked API keys',
  description: 'Revokes keys that were found in public and notifies the owners and admins by email.',
  audience: 'signed',
  signature: ownScheme(({ settings }) => settings.secretScanningSecret),
  body: z.strictObject({ reports: z.array(Report).min(1).max(100) }),
  status: 200,
  result: z.object({
    results: z.array(
      z.object({ index: z.int(), outcome: openEnum('revoked', 'already_revoked', 'unknown') }),
    ),
  }),
  fails: [],
  run: async ({ body, deps, requestId }) => {
    const results: { index: number; outcome: Outcome }[] = []
    for (const [index, report] of body.reports.entries()) {
      results.push({ index, outcome: await revokeLeaked(deps, report.token, report.url ?? null, requestId) })
    }
    deps.mail.wake()
    return { results }
  },
})

export const scanningOperations = [reportLeakedKeys]

async function revokeLeaked(
  deps: Deps,
  token: string,
  url: string | null,
  requestId: string,
): Promise<Outcome> {
  if (keyEnvironment(token) === null) return 'unknown'
  const hashes = keyHashes(deps.rootKey, token)
  const now = deps.clock.wall()
  return deps.db.transaction().execute(async (trx): Promise<Outcome> => {
    const key = await trx
      .updateTable('apiKeys')
      .set({ revokedAt: now })
      .where('hash', 'in', hashes)
      .where('revokedAt', 'is', null)
      .returning(['id', 'organizationId', 'name', 'start', 'environment'])
      .executeTakeFirst()
    if (key === undefined) {
      const known = await trx
        .selectFrom('apiKeys')
        .where('hash', 'in', hashes)
        .select('id')
        .executeTakeFirst()
      return known === undefined ? 'unknown' : 'already_revoked'
    }
    const { organizationId, name: keyName, start: keyStart, environment } = key
    await queueMailToAdmins(trx, now, organizationId, {
      kind: 'leaked_key',
      keyName,
      keyStart,
      environment,
      url,
    })
    await recorder(trx, { organizationId, actor: null, requestId }, now)('api_key.revoked_leaked', key.id, {
      reason: 'Found in public.',
      before: { name: keyName, environment },
    })
    return 'revoked'
  })
}
