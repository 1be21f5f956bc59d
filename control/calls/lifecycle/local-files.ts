import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { filesIn } from '../../../media/recording/finish.js'

/**
 * Id of the call at the start of the name of a recording file: `call_X.wav`, `call_X.person-3.wav`,
 * `call_X-xfr_Y-human.wav`.
 */
const CALL_OF_FILE = /^(call_[A-Za-z0-9]+)[.-]/

/** Returns the id of the call that a file of the folder of recordings belongs to; null for another file. */
export function callOfFile(name: string): string | null {
  return CALL_OF_FILE.exec(name)?.[1] ?? null
}

/**
 * Removes all files of a call from the local folder of recordings, also those without a row: recordings of the call
 * and its parts, tracks of persons, unfinished mixes and copies.
 */
export async function removeLocalFiles(folder: string, callId: string): Promise<void> {
  for (const name of await filesIn(folder)) {
    if (callOfFile(name) === callId) await rm(join(folder, name), { force: true })
  }
}
