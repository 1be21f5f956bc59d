/*
 * The thread that finishes recordings (a worker of `recording-jobs.ts`). It answers every message, so that no
 * error stays uncaught.
 */
import { parentPort } from 'node:worker_threads'
import { errorText } from '../../media/base/errors.js'
import { compressRecording } from '../../media/recording/compress.js'
import { finishRecording, type RecordedFile } from '../../media/recording/finish.js'
import type { RawRecording } from '../../media/recording/recorder.js'
import { resetThreadPriority } from '../thread/thread-priority.js'

export type RecordingJob =
  | { readonly type: 'finish'; readonly raw: RawRecording }
  /** Makes the Opus copy of a finished recording. */
  | { readonly type: 'compress'; readonly path: string }

export type RecordingReply =
  | { readonly ok: true; readonly file: RecordedFile | null }
  | { readonly ok: false; readonly message: string }

async function answer(job: RecordingJob): Promise<RecordingReply> {
  try {
    if (job.type === 'finish') return { ok: true, file: await finishRecording(job.raw) }
    await compressRecording(job.path)
    return { ok: true, file: null }
  } catch (error) {
    return { ok: false, message: errorText(error) }
  }
}

// The media thread that started this one has priority.
resetThreadPriority()

parentPort?.on('message', (job: RecordingJob) => {
  void answer(job).then((reply) => parentPort?.postMessage(reply))
})
