import { access } from 'node:fs/promises'
import { errorText } from '../../../media/base/errors.js'
import type { Log } from '../../../media/base/log.js'
import { filesIn } from '../../../media/recording/finish.js'
import type { Db } from '../../db/database.js'
import type { JobHandler } from '../../jobs/runner.js'
import { addJobs } from '../../jobs/store.js'
import type { ObjectStore } from '../../objects/object-store.js'
import { findStoredRecording } from '../recording-file.js'
import { recordingPath } from './settle.js'
import { storingJob, storingKind } from './storing-job.js'

/** Recordings that a process sends to the store at a time. Each takes one part of an upload of memory. */
const AT_ONCE = 2
/** Number of recordings in one look-up. */
const BATCH = 500

export interface RecordingStoreOptions {
  readonly db: Db
  readonly objects: ObjectStore
  readonly log: Log
  /** Id of the node that owns `folder`, in which its media threads record. */
  readonly nodeId: string
  readonly folder: string
}

/**
 * Returns the handler that moves finished recordings of this node to the object store. It repeats a move until
 * the store has confirmed the bytes; only then the local file goes.
 */
export function storingHandler({ db, objects, log, nodeId, folder }: RecordingStoreOptions): JobHandler {
  return {
    kind: storingKind(nodeId),
    concurrency: AT_ONCE,
    async run({ payload: name }) {
      const done = async () => null
      const path = recordingPath(folder, name)
      const row = await findStoredRecording(db, name)
      // Deleted meanwhile. The sweep of the folder removes the file.
      if (row === null) return done
      if (await isMissing(path)) {
        // A process that was killed after the move repeats its job.
        if ((await objects.head(row.key)) === null) log.error({ recording: name }, 'recording.missing')
        return done
      }
      if (!(await objects.moveIn(row.key, path, row))) {
        // A repetition would not help. The file stays, and this process serves it.
        log.error({ recording: name }, 'recording.changed_before_store')
      }
      return done
    },
  }
}

/**
 * Adds the jobs of recordings that are still in the folder: those of earlier releases, and those whose job was
 * lost with a restored database. Run it once at start.
 */
export async function scheduleStoring(
  { db, nodeId, folder }: RecordingStoreOptions,
  now: number,
): Promise<void> {
  const names = (await filesIn(folder)).flatMap((file) => /^(call_[\w-]+)\.wav$/.exec(file)?.[1] ?? [])
  for (let from = 0; from < names.length; from += BATCH) {
    const batch = names.slice(from, from + BATCH)
    const calls = await db.selectFrom('recordings').select('callId').where('callId', 'in', batch).execute()
    const parts = await db
      .selectFrom('transferRecordings')
      .select('name')
      .where('name', 'in', batch)
      .execute()
    const known = [...calls.map(({ callId }) => callId), ...parts.map(({ name }) => name)]
    const jobs = known.map((name) => storingJob(name, nodeId, now))
    await addJobs(db, jobs, now)
  }
}

async function isMissing(path: string): Promise<boolean> {
  try {
    await access(path)
    return false
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return true
    throw new Error(`the recording cannot be read: ${errorText(error)}`, { cause: error })
  }
}
