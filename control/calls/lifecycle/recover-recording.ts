import { finishRecording, recoverRecording } from '../../../media/recording/finish.js'
import type { RecordingFile } from '../../../workers/channel/protocol.js'

/**
 * The recording a stopped process left, made whole: what is there can be played. Null when there is
 * none, or nothing in it. `names` are the files of its folder.
 */
export async function recoverCallRecording(
  path: string,
  names: readonly string[],
): Promise<RecordingFile | null> {
  const raw = await recoverRecording(path, names)
  return raw === null ? null : await finishRecording(raw)
}
