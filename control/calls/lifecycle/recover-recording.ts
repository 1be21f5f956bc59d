import { dirname, join } from 'node:path'
import { finishRecording, recoverRecording } from '../../../media/recording/finish.js'
import type { RecordingFile } from '../../../workers/channel/protocol.js'
import { isPartFile } from '../transfers/store.js'

/**
 * Repairs the recording that a stopped process left, so that it can be played. Returns null when there is
 * none or it is empty. `names` are the files of its folder.
 */
export async function recoverCallRecording(
  path: string,
  names: readonly string[],
): Promise<RecordingFile | null> {
  const raw = await recoverRecording(path, names)
  return raw === null ? null : await finishRecording(raw)
}

/**
 * Repairs the recordings of the parts of a call, which the transfers of a stopped process left. `path` is that of the
 * recording of the call.
 */
export async function recoverPartRecordings(
  path: string,
  callId: string,
  names: readonly string[],
): Promise<readonly RecordingFile[]> {
  const parts = names.filter((name) => isPartFile(name, callId))
  const files = await Promise.all(parts.map((name) => recoverCallRecording(join(dirname(path), name), names)))
  return files.filter((file) => file !== null)
}
