import { opendir, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { sql } from 'kysely'
import { errorText } from '../../../media/base/errors.js'
import { minimumId } from '../../../media/base/ids.js'
import type { Log } from '../../../media/base/log.js'
import type { Db } from '../../db/database.js'
import { sweep } from '../../db/sweep.js'
import type { ObjectStore } from '../../objects/object-store.js'
import { deleteParts } from '../transfers/store.js'
import { RECORDING_KEYS } from './settle.js'

const DAY_MS = 24 * 3_600_000
/** Days after a call for which its recording and its transcript are kept. */
export const RECORDING_DAYS = 90
export const TRANSCRIPT_DAYS = 365
/** An id contains the start of its call or a slightly later time. No call lasts longer (ms). */
const LONGEST_CALL_MS = 2 * 3_600_000
/** Number of calls whose rows one statement removes. */
const SWEEP_CALLS = 100

/** The name of a recording file begins with its call's id. */
const CALL_OF_FILE = /^(call_[0-7][0-9A-HJKMNP-TV-Z]{25})[.-]/

/** Returns whether the call's transcript has passed its retention time. */
export function isTranscriptExpired(callId: string, now: number): boolean {
  return callId < endedBefore(now, TRANSCRIPT_DAYS)
}

/** Returns whether the recordings of a call may have passed their retention time. */
export function isRecordingExpired(callId: string, now: number): boolean {
  return callId < minimumId('call', now - RECORDING_DAYS * DAY_MS)
}

/** Deletes the rows of expired recordings. Their calls then have no recording, and their URLs answer 404. */
export function sweepRecordings(db: Db, now: number): Promise<boolean> {
  const endedAt = now - RECORDING_DAYS * DAY_MS
  return sweep(db, {
    table: 'recordings',
    key: 'callId',
    // The first condition uses the index. The second is exact, because the row was made when the call ended.
    where: sql<boolean>`"callId" < ${minimumId('call', endedAt)} and "createdAt" <= ${endedAt}`,
    batch: SWEEP_CALLS,
  })
}

/** Deletes the rows of expired recordings of parts of calls. Their attempts then have no recording. */
export async function sweepPartRecordings(db: Db, now: number): Promise<boolean> {
  const endedAt = now - RECORDING_DAYS * DAY_MS
  const expired = { before: minimumId('call', endedAt), endedAt, limit: SWEEP_CALLS }
  return (await db.transaction().execute((trx) => deleteParts(trx, expired))) === SWEEP_CALLS
}

/** Deletes expired transcripts. */
export function sweepTranscripts(db: Db, now: number): Promise<boolean> {
  return sweepSpeech(db, 'transcriptSegments', now)
}

/** Deletes expired call events, which contain transcripts as well. */
export function sweepCallEvents(db: Db, now: number): Promise<boolean> {
  return sweepSpeech(db, 'callEvents', now)
}

function sweepSpeech(db: Db, table: 'transcriptSegments' | 'callEvents', now: number): Promise<boolean> {
  const where = sql<boolean>`"callId" < ${endedBefore(now, TRANSCRIPT_DAYS)}`
  return sweep(db, { table, key: 'callId', grouped: true, where, batch: SWEEP_CALLS })
}

/**
 * Deletes expired recordings from the object store, also those without a row. Returns true if there may be
 * more. Keys sort by the start of their calls, so that only expired ones are read.
 */
export async function sweepStoredRecordings(objects: ObjectStore, now: number): Promise<boolean> {
  const oldest = endedBefore(now, RECORDING_DAYS)
  let deleted = 0
  for await (const { key } of objects.list(RECORDING_KEYS)) {
    if (key >= `${RECORDING_KEYS}${oldest}`) return false
    await objects.delete(key)
    if (++deleted === SWEEP_CALLS) return true
  }
  return false
}

/**
 * Deletes the local files of expired recordings: Opus copies and what was never stored. The age comes from the
 * file name, so that a large folder is read only once.
 */
export async function sweepRecordingFiles(
  folder: string,
  now: number,
  log: Log,
  signal: AbortSignal,
): Promise<void> {
  const oldest = endedBefore(now, RECORDING_DAYS)
  let deleted = 0
  for await (const entry of await opendir(folder)) {
    if (signal.aborted) break
    const callId = CALL_OF_FILE.exec(entry.name)?.[1]
    if (callId === undefined || callId >= oldest || !entry.isFile()) continue
    try {
      await unlink(join(folder, entry.name))
      deleted++
    } catch (error) {
      // The sweep continues with the other files and retries this one the next time.
      log.error({ file: entry.name, error: errorText(error) }, 'recording.delete_failed')
    }
  }
  if (deleted > 0) log.info({ deleted }, 'recordings.deleted')
}

function endedBefore(now: number, days: number): string {
  return minimumId('call', now - days * DAY_MS - LONGEST_CALL_MS)
}
