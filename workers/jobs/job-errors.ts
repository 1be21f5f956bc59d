import type { Worker } from 'node:worker_threads'
import { errorText } from '../../media/base/errors.js'
import type { Log } from '../../media/base/log.js'

/** What this needs of a pool of the job library. */
interface JobPool {
  on(event: 'worker-ready', listener: (worker: Worker) => void): unknown
}

/**
 * The library listens for a thread's error only while a job runs; one in between must not be fatal
 * here. It replaces the thread by itself.
 */
export function logThreadErrors(pool: JobPool, what: string, log: Log): void {
  const known = new WeakSet<Worker>()
  pool.on('worker-ready', (worker: Worker) => {
    if (known.has(worker)) return
    known.add(worker)
    worker.on('error', (error) => log.error({ error: errorText(error) }, `${what} thread failed`))
  })
}
