import { open } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import type { Db } from '../db/database.js'
import { anyJobExists } from '../jobs/store.js'
import type { ByteRange, ObjectStore } from '../objects/object-store.js'
import { recordingPath } from './lifecycle/settle.js'
import { storingJobId } from './lifecycle/storing-job.js'

/** A recording that exists: where it may lie, and its content. */
export interface StoredRecording {
  /** Id of the call, or name of a part of it. */
  readonly name: string
  readonly key: string
  readonly bytes: number
  readonly durationMs: number
  readonly sha256: string
  readonly createdAt: number
}

/** Returns the recording of a call, or of a part of a call, by its name. Returns null when there is none. */
export async function findStoredRecording(db: Db, name: string): Promise<StoredRecording | null> {
  const columns = ['key', 'bytes', 'durationMs', 'sha256', 'createdAt'] as const
  const row =
    (await db.selectFrom('recordings').select(columns).where('callId', '=', name).executeTakeFirst()) ??
    (await db.selectFrom('transferRecordings').select(columns).where('name', '=', name).executeTakeFirst())
  return row === undefined ? null : { name, ...row }
}

/**
 * Opens a recording, or a range of it. It lies in the local folder until its job has moved it to the store, so
 * the folder is looked at first. Returns null when neither has it.
 */
export async function openRecording(
  objects: ObjectStore,
  folder: string,
  { name, key }: Pick<StoredRecording, 'name' | 'key'>,
  range?: ByteRange,
): Promise<Readable | null> {
  try {
    const file = await open(recordingPath(folder, name), 'r')
    return file.createReadStream(range ?? {})
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error
    return await objects.get(key, range)
  }
}

/** Returns true while a process still has to move one of the recordings with these names to the store. */
export function isBeingStored(db: Db, ...names: readonly string[]): Promise<boolean> {
  return anyJobExists(db, names.map(storingJobId))
}
