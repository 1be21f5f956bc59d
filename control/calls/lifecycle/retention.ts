import { opendir, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { errorText } from '../../../media/base/errors.js'
import { minimumId } from '../../../media/base/ids.js'
import type { Log } from '../../../media/base/log.js'
import type { Db } from '../../db/database.js'

const DAY_MS = 24 * 3_600_000
/** How long after a call its recording and its transcript are kept. */
export const RECORDING_DAYS = 90
export const TRANSCRIPT_DAYS = 365
/** Ids tell when a call began, or a little later; none is longer (the reaper sees to it). */
const LONGEST_CALL_MS = 2 * 3_600_000
/** Calls whose rows are removed by one statement. */
const CHUNK = 100

/** Recording files are named after their call, whatever follows. */
const CALL_OF_FILE = /^(call_[0-7][0-9A-HJKMNP-TV-Z]{25})[.-]/

/** Whether a call is so long over that its transcript was deleted. */
export function isTranscriptExpired(callId: string, now: number): boolean {
  return callId < endedBefore(now, TRANSCRIPT_DAYS)
}

/** Forgets recordings at the end of their time: the call says it has none, and its address answers 404. */
export async function sweepRecordings(db: Db, now: number): Promise<boolean> {
  const endedAt = now - RECORDING_DAYS * DAY_MS
  const gone = await db
    .deleteFrom('recordings')
    .where('callId', 'in', (query) =>
      query
        .selectFrom('recordings')
        .select('callId')
        // The first condition has the index, the second is exact: the row was made when the call ended.
        .where('callId', '<', minimumId('call', endedAt))
        .where('createdAt', '<=', endedAt)
        .limit(CHUNK),
    )
    .returning('callId')
    .execute()
  return gone.length === CHUNK
}

export async function sweepTranscripts(db: Db, now: number): Promise<boolean> {
  const gone = await db
    .deleteFrom('transcriptSegments')
    .where('callId', 'in', (query) =>
      query
        .selectFrom('transcriptSegments')
        .select('callId')
        .distinct()
        .where('callId', '<', endedBefore(now, TRANSCRIPT_DAYS))
        .limit(CHUNK),
    )
    .returning('callId')
    .execute()
  return gone.length > 0
}

/** They hold what was said as well. */
export async function sweepCallEvents(db: Db, now: number): Promise<boolean> {
  const gone = await db
    .deleteFrom('callEvents')
    .where('callId', 'in', (query) =>
      query
        .selectFrom('callEvents')
        .select('callId')
        .distinct()
        .where('callId', '<', endedBefore(now, TRANSCRIPT_DAYS))
        .limit(CHUNK),
    )
    .returning('callId')
    .execute()
  return gone.length > 0
}

/**
 * Deletes the files of recordings at the end of their time, also of those whose row never was. Goes by
 * their names, so that a folder of many files costs one reading of it.
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
      // The others must go all the same; this one is tried again with the next sweep.
      log.error({ file: entry.name, error: errorText(error) }, 'an old recording cannot be deleted')
    }
  }
  if (deleted > 0) log.info({ deleted }, 'old recordings deleted')
}

function endedBefore(now: number, days: number): string {
  return minimumId('call', now - days * DAY_MS - LONGEST_CALL_MS)
}
