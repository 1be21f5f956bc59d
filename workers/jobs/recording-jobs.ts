import { fileURLToPath } from 'node:url'
import { isTimeoutError, StaticPool } from 'node-worker-threads-pool'
import { EngineError, errorText } from '../../media/base/errors.js'
import type { Log } from '../../media/base/log.js'
import { holdRecording, releaseRecording } from '../../media/recording/compress.js'
import { finishRecording, type RecordedFile } from '../../media/recording/finish.js'
import type { RawRecording } from '../../media/recording/recorder.js'
import { logThreadErrors } from './job-errors.js'
import type { RecordingJob, RecordingReply } from './recording-thread.js'

/** More calls than end at the same time on one worker. */
const MAX_WAITING = 256
/**
 * Time limit (ms), below that of closing a session. The recording of an hour takes one second to hash and
 * about ten to compress.
 */
const FINISH_LIMIT_MS = 10_000
const COMPRESS_LIMIT_MS = 600_000

type Pool = StaticPool<(job: RecordingJob) => RecordingReply>

/**
 * The recording thread of a media worker, which starts with the first recording. With `compress`, a second
 * thread makes an Opus copy of each, after the end of the call was reported.
 */
export class RecordingJobs {
  readonly #compress: boolean
  readonly #log: Log
  readonly #running = new Set<Promise<unknown>>()
  readonly #copies: string[] = []
  #copying = false
  #pool: Pool | null = null
  #closing: Promise<void> | null = null

  constructor({ compress, log }: { readonly compress: boolean; readonly log: Log }) {
    this.#compress = compress
    this.#log = log
  }

  /**
   * Makes the final file of a recording in another thread; on this thread, in small slices, when the other
   * one does not answer or its queue is full. Rejects when the disk fails.
   */
  async finish(raw: RawRecording): Promise<RecordedFile | null> {
    const file = await this.#finished(raw)
    if (file !== null && this.#compress) await this.#copyLater(file.path)
    return file
  }

  /** Finishes running jobs; skips waiting copies. Idempotent. */
  close(): Promise<void> {
    this.#closing ??= this.#finishAll()
    return this.#closing
  }

  async #finishAll(): Promise<void> {
    const skipped = this.#copies.splice(0)
    if (skipped.length > 0) this.#log.warn({ copies: skipped.length }, 'recording.copies_skipped')
    await Promise.all(skipped.map(releaseRecording))
    // Terminating a thread during a job would leave the library's timer running.
    await Promise.allSettled(this.#running)
    await this.#pool?.destroy()
  }

  async #finished(raw: RawRecording): Promise<RecordedFile | null> {
    let reply: RecordingReply
    try {
      reply = await this.#run({ type: 'finish', raw }, FINISH_LIMIT_MS)
    } catch (error) {
      // The other thread may still be working on the file.
      if (error instanceof Error && isTimeoutError(error))
        throw new EngineError('timeout', 'the recording took too long to finish')
      this.#log.warn({ error: errorText(error) }, 'recording.thread_fallback')
      return await finishRecording(raw)
    }
    if (!reply.ok) throw new EngineError('storage_failed', reply.message)
    return reply.file
  }

  async #copyLater(path: string): Promise<void> {
    if (this.#closing !== null || this.#copies.length >= MAX_WAITING) {
      this.#log.warn({}, 'recording.copy_skipped')
      return
    }
    try {
      // The recording is moved to the object store as soon as the end of the call is stored.
      await holdRecording(path)
    } catch (error) {
      this.#log.error({ error: errorText(error) }, 'recording.copy_failed')
      return
    }
    this.#copies.push(path)
    void this.#copyNext()
  }

  /** Makes one copy at a time, so that recordings are finished in between. */
  async #copyNext(): Promise<void> {
    if (this.#copying) return
    this.#copying = true
    for (let path = this.#copies.shift(); path !== undefined; path = this.#copies.shift()) {
      try {
        const reply = await this.#run({ type: 'compress', path }, COMPRESS_LIMIT_MS)
        if (!reply.ok) this.#log.error({ error: reply.message }, 'recording.copy_failed')
      } catch (error) {
        this.#log.error({ error: errorText(error) }, 'recording.copy_failed')
      }
    }
    this.#copying = false
  }

  async #run(job: RecordingJob, limitMs: number): Promise<RecordingReply> {
    if (this.#running.size >= MAX_WAITING) throw new EngineError('overloaded', 'the recording queue is full')
    if (this.#closing !== null) throw new EngineError('closed', 'the recording thread is closed')
    this.#pool ??= this.#open()
    const work = this.#pool.createExecutor().setTimeout(limitMs).exec(job)
    this.#running.add(work)
    try {
      return await work
    } finally {
      this.#running.delete(work)
    }
  }

  #open(): Pool {
    const pool: Pool = new StaticPool({
      // A long copy must not delay the report of another call's end.
      size: this.#compress ? 2 : 1,
      task: fileURLToPath(new URL('./recording-thread.js', import.meta.url)),
    })
    logThreadErrors(pool, 'recording', this.#log)
    return pool
  }
}
