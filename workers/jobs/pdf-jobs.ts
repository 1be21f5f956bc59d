import { fileURLToPath } from 'node:url'
import { isTimeoutError, StaticPool } from 'node-worker-threads-pool'
import { EngineError } from '../../media/base/errors.js'
import type { Log } from '../../media/base/log.js'
import { logThreadErrors } from './job-errors.js'
import type { PdfDocument } from './pdf/document.js'
import type { PdfReply } from './pdf-thread.js'

/** Documents that wait or are rendered. */
const MAX_WAITING = 32
/** Time limit of a document (ms), including its wait. A document of 500 pages takes a few seconds. */
const LIMIT_MS = 30_000

type Pool = StaticPool<(document: PdfDocument) => PdfReply>

/** The thread that renders documents. It starts with the first document. */
export class PdfJobs {
  readonly #log: Log
  readonly #running = new Set<Promise<unknown>>()
  #pool: Pool | null = null
  #closing: Promise<void> | null = null

  constructor({ log }: { readonly log: Log }) {
    this.#log = log
  }

  /**
   * Renders a document. Rejects with EngineError `overloaded` if the document is too long (`renderPdf`) or too
   * many documents wait, `timeout` after 30 s, `closed` after `close`, `internal` if it cannot be rendered.
   */
  async render(document: PdfDocument): Promise<Uint8Array> {
    if (this.#closing !== null) throw new EngineError('closed', 'the PDF thread is closed')
    if (this.#running.size >= MAX_WAITING) throw new EngineError('overloaded', 'the PDF queue is full')
    this.#pool ??= this.#open()
    const work = this.#pool.createExecutor().setTimeout(LIMIT_MS).exec(document)
    this.#running.add(work)
    try {
      const reply = await work
      if (reply.ok) return reply.bytes
      throw new EngineError(reply.tooLong ? 'overloaded' : 'internal', reply.message)
    } catch (error) {
      if (error instanceof Error && isTimeoutError(error)) {
        throw new EngineError('timeout', 'the document took too long to render')
      }
      throw error
    } finally {
      this.#running.delete(work)
    }
  }

  /** Finishes running documents. Idempotent. */
  close(): Promise<void> {
    this.#closing ??= this.#finishAll()
    return this.#closing
  }

  async #finishAll(): Promise<void> {
    // Terminating a thread during a job would leave the library's timer running.
    await Promise.allSettled(this.#running)
    await this.#pool?.destroy()
  }

  #open(): Pool {
    const task = fileURLToPath(new URL('./pdf-thread.js', import.meta.url))
    const pool: Pool = new StaticPool({ size: 1, task })
    logThreadErrors(pool, 'pdf', this.#log)
    return pool
  }
}
