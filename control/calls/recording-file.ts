import { open } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import type { Db } from '../db/database.js'
import type { ByteRange, ObjectStore } from '../objects/object-store.js'
import { recordingPath } from './lifecycle/settle.js'
import { storingJobId } from './lifecycle/storing-job.js'

/** A recording that exists: where it may lie. */
export interface RecordingPlace {
  readonly callId: string
  readonly key: string
}

/**
 * Opens a recording, or a range of it. It lies in the local folder until its job has moved it to the store, so
 * the folder is looked at first. Returns null when neither has it.
 */
export async function openRecording(
  objects: ObjectStore,
  folder: string,
  { callId, key }: RecordingPlace,
  range?: ByteRange,
): Promise<Readable | null> {
  try {
    const file = await open(recordingPath(folder, callId), 'r')
    return file.createReadStream(range ?? {})
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error
    return await objects.get(key, range)
  }
}

/** Returns true while another process still has to move the recording to the store. */
export async function isBeingStored(db: Db, callId: string): Promise<boolean> {
  const job = await db
    .selectFrom('jobs')
    .select('id')
    .where('id', '=', storingJobId(callId))
    .executeTakeFirst()
  return job !== undefined
}
