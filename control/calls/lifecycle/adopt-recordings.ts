import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from '../../../media/base/clock.js'
import { errorText } from '../../../media/base/errors.js'
import type { Log } from '../../../media/base/log.js'
import { filesIn } from '../../../media/recording/finish.js'
import type { RecordingFile } from '../../../workers/channel/protocol.js'
import type { Db, Trx } from '../../db/database.js'
import type { JobHandler } from '../../jobs/runner.js'
import { addJobs } from '../../jobs/store.js'
import { storeParts } from '../transfers/store.js'
import { callOfFile, removeLocalFiles } from './local-files.js'
import { recoverCallRecording, recoverPartRecordings } from './recover-recording.js'
import { isRecordingExpired } from './retention.js'
import { partFile, recordingKey, recordingPath } from './settle.js'
import { storingJob } from './storing-job.js'

/*
 * Finds recordings of ended calls that have no row. Either another node settled the call while this node, which has
 * the file, was away. Or the file was not finished in time.
 */

/** Poll interval (ms). */
const LOOK_MS = 10 * 60_000
/** A file without a write for this time (ms) is neither being recorded nor being finished. */
const RESTING_MS = 60_000
const BATCH = 500

export interface AdoptionOptions {
  readonly db: Db
  /** Id of the node that owns `folder`. */
  readonly nodeId: string
  readonly folder: string
  readonly clock: Pick<Clock, 'wall'>
  readonly log: Log
}

function adoptionKind(nodeId: string): string {
  return `adopt-recordings:${nodeId}`
}

/** Adds the job that adopts the recordings of this node, now and every ten minutes. Run it once at start. */
export async function scheduleAdoption(db: Db, nodeId: string, now: number): Promise<void> {
  const kind = adoptionKind(nodeId)
  await addJobs(db, [{ id: kind, kind, dueAt: now }], now)
  // The next poll of the last run may be minutes away.
  await db.updateTable('jobs').set({ dueAt: now }).where('id', '=', kind).where('owner', 'is', null).execute()
}

export function adoptionHandler(options: AdoptionOptions): JobHandler {
  return {
    kind: adoptionKind(options.nodeId),
    concurrency: 1,
    async run({ signal }) {
      await adoptRecordings(options, signal)
      return async () => options.clock.wall() + LOOK_MS
    },
  }
}

/**
 * Stores rows for the recordings of ended calls that lie in the folder without one, and the jobs that move them to
 * the object store. Removes the files of calls whose person was erased since. A file that cannot be read is tried
 * again at the next poll. Returns the number of recordings.
 */
export async function adoptRecordings(options: AdoptionOptions, signal?: AbortSignal): Promise<number> {
  const { db, folder, log } = options
  const names = await filesIn(folder)
  const ids = [...new Set(names.map(callOfFile))].filter((id) => id !== null)
  let adopted = 0
  for (let from = 0; from < ids.length; from += BATCH) {
    const calls = await unrecorded(db, ids.slice(from, from + BATCH))
    for (const call of calls) {
      if (signal?.aborted === true) return adopted
      try {
        adopted += await adopt(options, call, names)
      } catch (error) {
        log.error({ callId: call.id, error: errorText(error) }, 'recording.adopt_failed')
      }
    }
  }
  if (adopted > 0) log.warn({ recordings: adopted }, 'recordings.adopted')
  return adopted
}

/** Returns the calls among these ids that have ended, with the names of their recordings that have a row. */
async function unrecorded(db: Db, ids: readonly string[]) {
  const calls = await db
    .selectFrom('calls')
    .leftJoin('recordings', 'recordings.callId', 'calls.id')
    .select(['calls.id', 'calls.organizationId', 'calls.environment', 'toNumber', 'fromNumber'])
    .select(['calls.endedAt', 'recordings.callId as recorded'])
    .where('calls.id', 'in', ids)
    .where('calls.endedAt', 'is not', null)
    .execute()
  const parts = await db
    .selectFrom('transferRecordings')
    .select(['callId', 'name'])
    .where('callId', 'in', ids)
    .execute()
  return calls.map((call) => ({
    ...call,
    parts: parts.filter(({ callId }) => callId === call.id).map(({ name }) => name),
  }))
}

type Unrecorded = Awaited<ReturnType<typeof unrecorded>>[number]

async function adopt(options: AdoptionOptions, call: Unrecorded, names: readonly string[]): Promise<number> {
  const { db, nodeId, folder, clock, log } = options
  const now = clock.wall()
  const own = names.filter((name) => callOfFile(name) === call.id)
  for (const name of own) if (!(await isResting(join(folder, name), now))) return 0
  if (isRecordingExpired(call.id, now)) return 0
  if (isErased(call)) {
    await removeLocalFiles(folder, call.id)
    log.warn({ callId: call.id }, 'recording.removed_after_erasure')
    return 0
  }
  const path = recordingPath(folder, call.id)
  const main = call.recorded === null ? await recoverCallRecording(path, own) : null
  const known = new Set(call.parts.map((name) => recordingPath(folder, name)))
  const left = own.filter((name) => !known.has(join(folder, name)))
  const parts = await recoverPartRecordings(path, call.id, left)
  if (main === null && parts.length === 0) return 0
  return await db.transaction().execute(async (trx) => {
    // The conditional update waits for an erasure that runs, holds later ones up until the rows are stored, and finds
    // nothing after one.
    const held = await trx
      .updateTable('calls')
      .set({ endedAt: call.endedAt })
      .where('id', '=', call.id)
      .where('toNumber', '=', call.toNumber)
      .where('fromNumber', '=', call.fromNumber)
      .returning('id')
      .executeTakeFirst()
    if (held === undefined) return 0
    const stored = [
      ...(main !== null && (await storeMain(trx, call, main, now)) ? [call.id] : []),
      ...(await storeParts(trx, parts.map(partFile), now)),
    ]
    const jobs = stored.map((name) => storingJob(name, nodeId, now))
    await addJobs(trx, jobs, now)
    return stored.length
  })
}

async function storeMain(trx: Trx, call: Unrecorded, file: RecordingFile, now: number): Promise<boolean> {
  const row = await trx
    .insertInto('recordings')
    .values({
      callId: call.id,
      organizationId: call.organizationId,
      environment: call.environment,
      key: recordingKey(call.id),
      bytes: file.bytes,
      durationMs: Math.round(file.durationMs),
      sha256: file.sha256,
      createdAt: now,
    })
    .onConflict((conflict) => conflict.doNothing())
    .returning('callId')
    .executeTakeFirst()
  return row !== undefined
}

/** Tells whether an erasure has replaced the number of the person. */
function isErased({ toNumber, fromNumber }: Unrecorded): boolean {
  return toNumber.startsWith('erased-') || fromNumber.startsWith('erased-')
}

async function isResting(path: string, now: number): Promise<boolean> {
  try {
    return now - (await stat(path)).mtimeMs >= RESTING_MS
  } catch (error) {
    // The file was moved to the object store since.
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return true
    throw error
  }
}
