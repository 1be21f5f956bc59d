import type { Worker } from 'node:worker_threads'
import { errorText } from '../../media/base/errors.js'
import type { Log } from '../../media/base/log.js'

/** The part of a node-worker-threads-pool that is used here. */
interface JobPool {
  on(event: 'worker-ready', listener: (worker: Worker) => void): unknown
}

/**
 * Logs errors of idle threads. The library listens for a thread's error only while a job runs, and an error
 * in between must not end the process. The library replaces the thread itself.
 */
export function logThreadErrors(pool: JobPool, what: string, log: Log): void {
  const known = new WeakSet<Worker>()
  pool.on('worker-ready', (worker: Worker) => {
    if (known.has(worker)) return
    known.add(worker)
    worker.on('error', (error) =>
      log.error({ jobs: what, error: errorText(error) }, 'worker.job_thread_failed'),
    )
  })
}
