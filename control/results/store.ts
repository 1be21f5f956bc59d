import { EMBEDDED_LANGUAGE_MODEL } from '../../media/vendors/vendor-ids.js'
import { AgentConfig } from '../agents/config.js'
import type { Db, Trx } from '../db/database.js'
import type { CallRow } from '../db/tables/calling.js'
import { insertEvent } from '../events/store.js'
import { addJobs } from '../jobs/store.js'
import type { CallResult } from './extraction.js'
import { plainSummary } from './plain-summary.js'

/** Delay of `call.completed` after an answered agent call (ms), unless the result is available earlier. */
export const RESULT_WAIT_MS = 90_000
/** Stored as the error of a result whose questions no model can answer. The API shows it. */
const CANNOT_ANSWER = 'model_cannot_answer'
export const RESULT_JOB = 'call-results'
export const COMPLETION_JOB = 'call-completion'

/** Returns the id of the job that extracts the result of a call. */
export function resultJobId(callId: string): string {
  return `${RESULT_JOB}:${callId}`
}

/**
 * Starts the extraction of the result of an ended call. Returns true if `call.completed` waits for it.
 * Returns false if there is no result or it is available at once; the caller then announces the event.
 */
export async function startResultExtraction(trx: Trx, call: CallRow, now: number): Promise<boolean> {
  if (call.answeredAt === null || call.agentVersionId === null) return false
  const config = await configOf(trx, call.agentVersionId)
  if (config === null) return false
  // Until a model answers, every output is null.
  const outputs = JSON.stringify(Object.fromEntries(config.outputVariables.map(({ name }) => [name, null])))
  const asked = config.outputVariables.length + config.evaluationCriteria.length > 0
  const row = { callId: call.id, organizationId: call.organizationId, createdAt: now, updatedAt: now }
  if (config.llmModel === EMBEDDED_LANGUAGE_MODEL) {
    const segments = await segmentsOf(trx, call.id)
    const summary = plainSummary(segments, call.agentSeconds + call.humanSeconds)
    if (summary === null) return false
    await trx
      .insertInto('callResults')
      .values({
        ...row,
        state: 'done',
        summary,
        outputs,
        evaluation: '[]',
        error: asked ? CANNOT_ANSWER : null,
        announced: 1,
      })
      .execute()
    return false
  }
  await trx
    .insertInto('callResults')
    .values({
      ...row,
      state: 'pending',
      summary: null,
      outputs,
      evaluation: '[]',
      error: null,
      announced: 0,
    })
    .execute()
  const lane = call.organizationId
  await addJobs(
    trx,
    [
      { id: resultJobId(call.id), kind: RESULT_JOB, lane, dueAt: now, payload: call.id },
      {
        id: `${COMPLETION_JOB}:${call.id}`,
        kind: COMPLETION_JOB,
        lane,
        dueAt: now + RESULT_WAIT_MS,
        payload: call.id,
      },
    ],
    now,
  )
  return true
}

/** Stores the result of a call that waits for one and replaces an earlier one. An erased call waits for none. */
export async function storeResult(trx: Trx, callId: string, result: CallResult, now: number): Promise<void> {
  await trx
    .updateTable('callResults')
    .set({
      state: 'done',
      summary: result.summary,
      outputs: JSON.stringify(result.outputs),
      evaluation: JSON.stringify(result.evaluation),
      error: null,
      updatedAt: now,
    })
    .where('callId', '=', callId)
    .where('state', '=', 'pending')
    .execute()
  await announceCompleted(trx, callId, now)
}

/** Removes the result of a call. An extraction that has read the transcript before cannot store its result any more. */
export async function eraseResult(trx: Trx, callId: string): Promise<void> {
  await trx
    .updateTable('callResults')
    .set({ state: 'done', summary: null, outputs: '{}', evaluation: '[]', error: null })
    .where('callId', '=', callId)
    .execute()
  // The end of a job is stored together with its result.
  await trx.deleteFrom('jobs').where('id', '=', resultJobId(callId)).execute()
}

/** Stores that the extraction failed for good. */
export async function storeResultFailure(
  trx: Trx,
  callId: string,
  error: string,
  now: number,
): Promise<void> {
  await trx
    .updateTable('callResults')
    .set({ state: 'failed', error, updatedAt: now })
    .where('callId', '=', callId)
    .where('state', '=', 'pending')
    .execute()
  await announceCompleted(trx, callId, now)
}

/** Records `call.completed` unless it was recorded before. */
export async function announceCompleted(trx: Trx, callId: string, now: number): Promise<void> {
  const first = await trx
    .updateTable('callResults')
    .set({ announced: 1 })
    .where('callId', '=', callId)
    .where('announced', '=', 0)
    .returning('callId')
    .executeTakeFirst()
  if (first === undefined) return
  const { organizationId, environment } = await trx
    .selectFrom('calls')
    .select(['organizationId', 'environment'])
    .where('id', '=', callId)
    .executeTakeFirstOrThrow()
  await insertEvent(
    trx,
    { organizationId, environment, type: 'call.completed', subjects: { call: callId } },
    now,
  )
}

/**
 * Repeats the extraction for a call that has a result or a failure. Returns `no_conversation` if it has neither,
 * and `no_model` if no configured language model can answer. Both change nothing.
 */
export async function retryResult(
  db: Db,
  callId: string,
  now: number,
  canAnswer: (llmModel: string) => boolean,
): Promise<'started' | 'no_conversation' | 'no_model'> {
  const input = await readExtractionInput(db, callId)
  if (input === null) return 'no_conversation'
  if (!canAnswer(input.config.llmModel)) return 'no_model'
  return await db.transaction().execute(async (trx) => {
    const row = await trx
      .updateTable('callResults')
      .set({ state: 'pending', error: null, updatedAt: now })
      .where('callId', '=', callId)
      .returning('organizationId')
      .executeTakeFirst()
    if (row === undefined) return 'no_conversation'
    await addJobs(
      trx,
      [{ id: resultJobId(callId), kind: RESULT_JOB, lane: row.organizationId, dueAt: now, payload: callId }],
      now,
    )
    return 'started'
  })
}

/** Returns the configuration and the transcript for the extraction, or null if the call has no agent. */
export async function readExtractionInput(
  db: Db,
  callId: string,
): Promise<{
  readonly config: AgentConfig
  readonly segments: readonly { readonly role: string; readonly text: string }[]
} | null> {
  const call = await db
    .selectFrom('calls')
    .select('agentVersionId')
    .where('id', '=', callId)
    .executeTakeFirst()
  const config = call?.agentVersionId == null ? null : await configOf(db, call.agentVersionId)
  return config === null ? null : { config, segments: await segmentsOf(db, callId) }
}

async function configOf(db: Db | Trx, agentVersionId: string): Promise<AgentConfig | null> {
  const row = await db
    .selectFrom('agentVersions')
    .select('config')
    .where('id', '=', agentVersionId)
    .executeTakeFirst()
  return row === undefined ? null : AgentConfig.parse(JSON.parse(row.config))
}

function segmentsOf(db: Db | Trx, callId: string) {
  return db
    .selectFrom('transcriptSegments')
    .select(['role', 'text'])
    .where('callId', '=', callId)
    .orderBy('startMs')
    .orderBy('seq')
    .execute()
}
