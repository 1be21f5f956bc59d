import { fileURLToPath } from 'node:url'
import type { Worker } from 'node:worker_threads'
import { isTimeoutError, StaticPool } from 'node-worker-threads-pool'
import type { Synthesis, SynthesisPort, SynthesisRequest } from '../media/agent/vendors/espeak/port.js'
import type { Clock, Timer } from '../media/base/clock.js'
import { EngineError, errorText } from '../media/base/errors.js'
import type { Log } from '../media/base/log.js'
import type { SynthesisJob, SynthesisReply } from './synthesis-job.js'

export interface SynthesisJobs extends SynthesisPort {
  /** Jobs waiting or running. */
  readonly pending: number
  /** Idempotent: rejects what waits with `closed`, lets what runs end (bounded) and stops the threads. */
  close(): Promise<void>
}

interface Waiting {
  readonly request: SynthesisRequest
  readonly signal: AbortSignal | undefined
  readonly resolve: (synthesis: Synthesis) => void
  readonly reject: (error: EngineError) => void
  readonly deadline: Timer
  readonly onAbort: () => void
  settled: boolean
}

/**
 * Synthesis off the beat: `threads` eSpeak threads of a node-worker-threads-pool, a bounded queue in
 * front of them and a deadline from submission on, so that a caller always hears within `deadlineMs`.
 */
export function openSynthesisJobs(options: {
  readonly threads?: number
  readonly maxQueued?: number
  readonly deadlineMs?: number
  readonly clock: Clock
  readonly log: Log
}): SynthesisJobs {
  const { threads = 1, maxQueued = 128, deadlineMs = 5000, clock, log } = options
  const pool = new StaticPool<(job: SynthesisJob) => SynthesisReply>({
    size: threads,
    task: fileURLToPath(new URL('./synthesis-job.js', import.meta.url)),
  })
  watchErrors(pool, log)
  const queue: Waiting[] = []
  const running = new Set<Promise<void>>()
  let closing: Promise<void> | undefined

  const settle = (job: Waiting): boolean => {
    if (job.settled) return false
    job.settled = true
    job.deadline.cancel()
    job.signal?.removeEventListener('abort', job.onAbort)
    return true
  }
  const refuse = (job: Waiting, error: EngineError): void => {
    if (settle(job)) job.reject(error)
  }

  const run = async (job: Waiting): Promise<void> => {
    try {
      // The engine stops itself at the limit; the library's own one is for a thread that hangs.
      const reply = await pool
        .createExecutor()
        .setTimeout(deadlineMs * 2)
        .exec({ request: job.request, limitMs: deadlineMs })
      if (!reply.ok) refuse(job, new EngineError(reply.code, reply.message))
      else if (settle(job)) job.resolve(reply.synthesis)
    } catch (error) {
      const code = error instanceof Error && isTimeoutError(error) ? 'vendor_stalled' : 'vendor_failed'
      refuse(job, new EngineError(code, errorText(error), { cause: error, retryable: true }))
    }
  }
  const dispatch = (): void => {
    while (running.size < threads) {
      const job = queue.shift()
      if (job === undefined) return
      if (job.settled) continue
      const work = run(job).then(() => {
        running.delete(work)
        dispatch()
      })
      running.add(work)
    }
  }

  return {
    get pending() {
      return queue.length + running.size
    },
    synthesize(request, signal) {
      if (closing) return Promise.reject(new EngineError('closed', 'synthesis is closed'))
      if (signal?.aborted) return Promise.reject(new EngineError('closed', 'synthesis was cancelled'))
      if (queue.length >= maxQueued) {
        return Promise.reject(
          new EngineError('overloaded', 'too many sentences wait for synthesis', { retryable: true }),
        )
      }
      return new Promise<Synthesis>((resolve, reject) => {
        const drop = (error: EngineError): void => {
          const at = queue.indexOf(job)
          if (at >= 0) queue.splice(at, 1)
          refuse(job, error)
        }
        const job: Waiting = {
          request,
          signal,
          resolve,
          reject,
          deadline: clock.after(deadlineMs, () =>
            drop(new EngineError('vendor_stalled', 'synthesis took too long', { retryable: true })),
          ),
          onAbort: () => drop(new EngineError('closed', 'synthesis was cancelled')),
          settled: false,
        }
        signal?.addEventListener('abort', job.onAbort, { once: true })
        queue.push(job)
        dispatch()
      })
    },
    close() {
      closing ??= (async () => {
        for (const job of queue.splice(0)) refuse(job, new EngineError('closed', 'synthesis is closed'))
        // A thread ended in the middle of a job would leave the library's timer running.
        await Promise.all(running)
        await pool.destroy()
      })()
      return closing
    },
  }
}

// The library listens for a thread's error only while a job runs; one in between must not be fatal
// here. It replaces the thread by itself.
function watchErrors(pool: StaticPool<(job: SynthesisJob) => SynthesisReply>, log: Log): void {
  const known = new WeakSet<Worker>()
  pool.on('worker-ready', (worker: Worker) => {
    if (known.has(worker)) return
    known.add(worker)
    worker.on('error', (error) => log.error({ error: errorText(error) }, 'synthesis thread failed'))
  })
}
