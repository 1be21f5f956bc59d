import { fileURLToPath } from 'node:url'
import { isTimeoutError, StaticPool } from 'node-worker-threads-pool'
import type { Clock, Timer } from '../../media/base/clock.js'
import { EngineError, errorText } from '../../media/base/errors.js'
import type { Log } from '../../media/base/log.js'
import type { Synthesis, SynthesisPort, SynthesisRequest } from '../../media/vendors/espeak/synthesis-port.js'
import { logThreadErrors } from './job-errors.js'
import type { SynthesisJob, SynthesisReply } from './synthesis-thread.js'

/** One text to synthesise, shared by all requests that arrive while it waits or runs. */
interface Job {
  readonly key: string
  readonly request: SynthesisRequest
  readonly waiters: Set<Waiter>
}

interface Waiter {
  readonly resolve: (synthesis: Synthesis) => void
  readonly reject: (error: EngineError) => void
  readonly signal: AbortSignal | undefined
  readonly deadline: Timer
  readonly onAbort: () => void
}

type JobPool = StaticPool<(job: SynthesisJob) => SynthesisReply>

export interface SynthesisJobsOptions {
  readonly threads?: number
  readonly maxQueued?: number
  readonly deadlineMs?: number
  readonly clock: Clock
  readonly log: Log
}

/**
 * Synthesis outside of the media thread: `threads` eSpeak threads behind a bounded queue. The deadline counts
 * from submission, so that every request is answered within `deadlineMs`. Simultaneous requests for the same
 * text (the opening line of a campaign) share one job.
 */
export class SynthesisJobs implements SynthesisPort {
  readonly #pool: JobPool
  readonly #threads: number
  readonly #maxQueued: number
  readonly #deadlineMs: number
  readonly #clock: Clock
  readonly #queue: Job[] = []
  readonly #byKey = new Map<string, Job>()
  readonly #running = new Set<Promise<void>>()
  #closing: Promise<void> | undefined

  constructor(options: SynthesisJobsOptions) {
    const { threads = 1, maxQueued = 128, deadlineMs = 5000, clock, log } = options
    this.#threads = threads
    this.#maxQueued = maxQueued
    this.#deadlineMs = deadlineMs
    this.#clock = clock
    this.#pool = new StaticPool({
      size: threads,
      task: fileURLToPath(new URL('./synthesis-thread.js', import.meta.url)),
    })
    logThreadErrors(this.#pool, 'synthesis', log)
  }

  /** Number of jobs waiting or running. */
  get pending(): number {
    return this.#queue.length + this.#running.size
  }

  synthesize(request: SynthesisRequest, signal?: AbortSignal): Promise<Synthesis> {
    if (this.#closing) return Promise.reject(new EngineError('closed', 'synthesis is closed'))
    if (signal?.aborted) return Promise.reject(cancelled())
    const { text, voice, language, pace, rate } = request
    const key = JSON.stringify([voice, language, pace, rate, text])
    let job = this.#byKey.get(key)
    if (job === undefined) {
      if (this.#queue.length >= this.#maxQueued) {
        return Promise.reject(
          new EngineError('overloaded', 'the synthesis queue is full', { retryable: true }),
        )
      }
      job = { key, request, waiters: new Set() }
      this.#byKey.set(key, job)
      this.#queue.push(job)
    }
    const result = this.#wait(job, signal)
    this.#dispatch()
    return result
  }

  /** Rejects waiting jobs with `closed`, lets running ones end (bounded) and stops the threads. Idempotent. */
  close(): Promise<void> {
    this.#closing ??= this.#finish()
    return this.#closing
  }

  async #finish(): Promise<void> {
    for (const job of this.#queue.splice(0)) {
      this.#byKey.delete(job.key)
      for (const waiter of [...job.waiters])
        refuse(job, waiter, new EngineError('closed', 'synthesis is closed'))
    }
    // Terminating a thread during a job would leave the library's timer running.
    await Promise.all(this.#running)
    await this.#pool.destroy()
  }

  #wait(job: Job, signal: AbortSignal | undefined): Promise<Synthesis> {
    return new Promise((resolve, reject) => {
      const leave = (error: EngineError): void => {
        refuse(job, waiter, error)
        if (job.waiters.size > 0) return
        // No request is left: a waiting job never runs.
        const at = this.#queue.indexOf(job)
        if (at < 0) return
        this.#queue.splice(at, 1)
        this.#byKey.delete(job.key)
      }
      const waiter: Waiter = {
        resolve,
        reject,
        signal,
        deadline: this.#clock.after(this.#deadlineMs, () => leave(stalled())),
        onAbort: () => leave(cancelled()),
      }
      signal?.addEventListener('abort', waiter.onAbort, { once: true })
      job.waiters.add(waiter)
    })
  }

  #dispatch(): void {
    while (this.#running.size < this.#threads) {
      const job = this.#queue.shift()
      if (job === undefined) return
      const work = this.#run(job).then(() => {
        this.#running.delete(work)
        this.#dispatch()
      })
      this.#running.add(work)
    }
  }

  async #run(job: Job): Promise<void> {
    let outcome: Synthesis | EngineError
    try {
      // eSpeak stops at the limit itself; the library's limit is for a thread that hangs.
      const reply = await this.#pool
        .createExecutor()
        .setTimeout(this.#deadlineMs * 2)
        .exec({ request: job.request, limitMs: this.#deadlineMs })
      outcome = reply.ok
        ? reply.synthesis
        : new EngineError(reply.code, reply.message, { retryable: reply.retryable })
    } catch (error) {
      const code = error instanceof Error && isTimeoutError(error) ? 'vendor_stalled' : 'vendor_failed'
      outcome = new EngineError(code, errorText(error), { cause: error, retryable: true })
    }
    this.#byKey.delete(job.key)
    let first = true
    for (const waiter of [...job.waiters]) {
      if (outcome instanceof EngineError) {
        refuse(job, waiter, outcome)
        continue
      }
      settle(job, waiter)
      // Each receiver owns its samples.
      waiter.resolve(first ? outcome : { pcm: outcome.pcm.slice(), words: outcome.words })
      first = false
    }
  }
}

function settle(job: Job, waiter: Waiter): boolean {
  if (!job.waiters.delete(waiter)) return false
  waiter.deadline.cancel()
  waiter.signal?.removeEventListener('abort', waiter.onAbort)
  return true
}

function refuse(job: Job, waiter: Waiter, error: EngineError): void {
  if (settle(job, waiter)) waiter.reject(error)
}

function cancelled(): EngineError {
  return new EngineError('closed', 'synthesis was cancelled')
}

function stalled(): EngineError {
  return new EngineError('vendor_stalled', 'synthesis took too long', { retryable: true })
}
