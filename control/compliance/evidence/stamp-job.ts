import { EngineError } from '../../../media/base/errors.js'
import type { TimeStampAuthority } from '../../config/time-stamp-authority.js'
import type { Db } from '../../db/database.js'
import type { EvidenceAnchorRow } from '../../db/tables/calling.js'
import type { JobHandler } from '../../jobs/runner.js'
import { postBytes } from '../../net/send-once.js'
import { keepToken } from './anchors.js'
import { stampTimeProblem, TimeStampError, timeStampQuery, tokenOfReply } from './time-stamp.js'

export const TIME_STAMP_KIND = 'evidence-time-stamp'
const TIMEOUT_MS = 15_000
/** Requests to the authority at once. */
const CONCURRENCY = 2

/**
 * Returns the handler that has heads of chains time-stamped. A failure is repeated with growing delays. A process that
 * dies after the answer asks again, and one token is kept.
 */
export function timeStampHandler({
  db,
  authority,
}: {
  readonly db: Db
  /** Null finishes the jobs of an authority that is not configured any more. */
  readonly authority: TimeStampAuthority | null
}): JobHandler {
  return {
    kind: TIME_STAMP_KIND,
    concurrency: CONCURRENCY,
    async run({ payload, signal }) {
      const anchor = await db
        .selectFrom('evidenceAnchors')
        .select(['id', 'hash', 'token', 'seq', 'organizationId', 'environment'])
        .where('id', '=', payload)
        .executeTakeFirst()
      if (authority === null || anchor === undefined || anchor.token !== null) return async () => null
      const stamped = await requestToken(authority, anchor.hash, signal)
      const sealedAt = await sealedAtOf(db, anchor)
      const problem = sealedAt === null ? null : stampTimeProblem(anchor.seq, sealedAt, stamped.stamp.at)
      // The clock of the authority or of this machine is wrong. The job asks again later.
      if (problem !== null) throw new TimeStampError(problem)
      return async (trx) => {
        await keepToken(trx, anchor.id, stamped)
        return null
      }
    },
  }
}

/** Returns the time at which a record was sealed (Unix ms), or null if retention has removed the record. */
async function sealedAtOf(
  db: Db,
  { organizationId, environment, seq }: Pick<EvidenceAnchorRow, 'organizationId' | 'environment' | 'seq'>,
): Promise<number | null> {
  const row = await db
    .selectFrom('evidence')
    .select('record')
    .where('organizationId', '=', organizationId)
    .where('environment', '=', environment)
    .where('seq', '=', seq)
    .executeTakeFirst()
  if (row === undefined) return null
  return Date.parse((JSON.parse(row.record) as { readonly sealedAt: string }).sealedAt)
}

/** Asks the authority for a token over a hash (hex). Throws EngineError, or TimeStampError for a wrong reply. */
async function requestToken(
  { url, authorization, authorities }: TimeStampAuthority,
  hash: string,
  signal: AbortSignal,
): Promise<ReturnType<typeof tokenOfReply>> {
  const { query, nonce } = timeStampQuery(hash)
  const answer = await postBytes({
    url,
    headers: {
      'content-type': 'application/timestamp-query',
      accept: 'application/timestamp-reply',
      ...(authorization === null ? {} : { authorization }),
    },
    bytes: new Uint8Array(query),
    signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
  })
  if (answer === null || answer.status !== 200) {
    const what = answer === null ? 'did not answer' : `answered with status ${answer.status}`
    throw new EngineError('vendor_unreachable', `the time stamp authority ${what}`, { retryable: true })
  }
  return tokenOfReply(answer.bytes, { hash, nonce }, authorities)
}
