import { createHash } from 'node:crypto'
import { sql } from 'kysely'
import type { Clock } from '../../../media/base/clock.js'
import { canonicalJson } from '../../base/canonical-json.js'
import type { RootKey } from '../../base/root-key.js'
import { timestamp, timestampOrNull } from '../../base/schemas.js'
import { commitTo, openEvidenceKeys } from '../../compliance/evidence/seal.js'
import { appendRecord } from '../../compliance/evidence/store.js'
import type { Trx } from '../../db/database.js'
import type { CallRow } from '../../db/tables/calling.js'
import type { JobHandler } from '../../jobs/runner.js'
import type { NewJob } from '../../jobs/store.js'
import { listSegments } from '../store.js'
import { transcriptView } from '../transcript.js'

const KIND = 'seal-outcome'
/** Outcomes that are sealed at the same time, those of one chain in one transaction. */
const AT_ONCE = 8
/**
 * Least time from the end of an unanswered call to its sealing (ms). Campaigns make many such calls, and the next look for jobs
 * seals their outcomes together. The job of an answered call is claimed with the job that stores its recording.
 */
const UNANSWERED_MS = 500

/** Returns the job that seals the outcome of a call. Add it in the transaction that ends the call. Its lane is the chain. */
export function sealingJob(
  {
    id,
    organizationId,
    environment,
    answeredAt,
  }: Pick<CallRow, 'id' | 'organizationId' | 'environment' | 'answeredAt'>,
  endedAt: number,
): NewJob {
  const lane = `${organizationId}:${environment}`
  const dueAt = endedAt + (answeredAt === null ? UNANSWERED_MS : 0)
  return { id: sealingJobId(id), kind: KIND, lane, dueAt, payload: id }
}

export function sealingJobId(callId: string): string {
  return `${KIND}:${callId}`
}

interface Sealing {
  readonly rootKey: RootKey
  readonly clock: Pick<Clock, 'wall'>
}

export function sealingHandler({ rootKey, clock }: Sealing): JobHandler {
  return {
    kind: KIND,
    concurrency: AT_ONCE,
    // It locks the head of a chain, which others wait for.
    alone: true,
    async run({ payload: callId }) {
      return async (trx) => {
        await sealOutcome(trx, rootKey, callId, clock.wall())
        return null
      }
    },
  }
}

/** Seals how a call ended, once. */
async function sealOutcome(trx: Trx, rootKey: RootKey, callId: string, now: number): Promise<void> {
  const call = await trx
    .selectFrom('calls')
    .leftJoin('recordings', 'recordings.callId', 'calls.id')
    .leftJoin('evidence', (join) =>
      join.onRef('evidence.callId', '=', 'calls.id').on('evidence.kind', '=', sql.lit('outcome')),
    )
    .selectAll('calls')
    .select(['recordings.sha256', 'evidence.id as sealedAs'])
    // Most calls of a campaign have neither, and a statement more is a way to the database and back.
    .select([
      sql<number>`case when exists (select 1 from "transcriptSegments" where "transcriptSegments"."callId" = "calls"."id")
        then 1 else 0 end`.as('hasTranscript'),
      sql<number>`case when exists (select 1 from "transferRecordings" where "transferRecordings"."callId" = "calls"."id")
        then 1 else 0 end`.as('hasParts'),
    ])
    .where('calls.id', '=', callId)
    .executeTakeFirst()
  if (call === undefined || call.endedAt === null || call.sealedAs !== null) return
  const { organizationId, environment } = call
  const person = commitTo(call.direction === 'inbound' ? call.fromNumber : call.toNumber, null)
  const record = {
    kind: 'outcome',
    callId,
    gateRunId: call.complianceRunId,
    person,
    part: {
      direction: call.direction,
      number: call.direction === 'inbound' ? call.toNumber : call.fromNumber,
      agentId: call.agentId,
      agentVersionId: call.agentVersionId,
      campaignId: call.campaignId,
      outcome: {
        ...outcomeOf(call, call.endedAt),
        recordingSha256: call.sha256,
        ...(call.hasParts === 1 ? await partsOf(trx, callId) : {}),
        transcriptSha256: call.hasTranscript === 1 ? await transcriptHash(trx, callId) : null,
        // A member can listen to a call only after it was answered.
        ...(call.answeredAt === null ? {} : await monitorsOf(trx, callId)),
      },
    },
  } as const
  const keys = openEvidenceKeys(rootKey)
  await appendRecord(trx, keys, { organizationId, environment }, record, now)
}

function outcomeOf(call: CallRow, endedAt: number) {
  return {
    disposition: call.disposition,
    endedReason: call.endedReason,
    answeredBy: call.answeredBy,
    startedAt: timestampOrNull(call.startedAt),
    answeredAt: timestampOrNull(call.answeredAt),
    endedAt: timestamp(endedAt),
    durationSeconds: call.agentSeconds + call.humanSeconds,
  }
}

/** Returns the hashes of the recordings of transfers. */
async function partsOf(trx: Trx, callId: string) {
  const parts = await trx
    .selectFrom('transferRecordings')
    .select(['transferId', 'part', 'sha256'])
    .where('callId', '=', callId)
    .orderBy('transferId')
    .orderBy('part')
    .execute()
  return { parts }
}

/** Returns who listened to the call or took it over. Nothing for a call without. */
async function monitorsOf(trx: Trx, callId: string) {
  const rows = await trx
    .selectFrom('callMonitors')
    .select(['mode', 'userId', 'startedAt', 'endedAt'])
    .where('callId', '=', callId)
    .where('startedAt', 'is not', null)
    .orderBy('startedAt')
    .orderBy('id')
    .execute()
  const monitors = rows.map(({ mode, userId, startedAt, endedAt }) => ({
    ...{ mode, userId },
    startedAt: timestampOrNull(startedAt),
    endedAt: timestampOrNull(endedAt),
  }))
  return monitors.length === 0 ? {} : { monitors }
}

/** Returns the hash of the transcript's segments as canonical JSON, or null if none of them shows words. */
async function transcriptHash(trx: Trx, callId: string): Promise<string | null> {
  const { segments } = transcriptView(callId, await listSegments(trx, callId))
  const text = canonicalJson(JSON.parse(JSON.stringify(segments)))
  return segments.length === 0 ? null : createHash('sha256').update(text).digest('hex')
}
