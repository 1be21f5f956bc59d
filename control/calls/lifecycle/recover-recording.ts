import { finishRecording, recoverRecording } from '../../../media/recording/finish.js'
import type { RecordingFile } from '../../../workers/channel/protocol.js'

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
