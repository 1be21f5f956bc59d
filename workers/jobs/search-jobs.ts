import { fileURLToPath } from 'node:url'
import { isTimeoutError, StaticPool } from 'node-worker-threads-pool'
import { EngineError } from '../../media/base/errors.js'
import type { Log } from '../../media/base/log.js'
import type { FoundPassage, Question } from '../../media/knowledge/passage-index.js'
import { logThreadErrors } from './job-errors.js'
import type { SearchReply, SearchTask } from './search-thread.js'

/** Searches that wait or run. More than calls of one host ask at a time. */
const MAX_WAITING = 256
/** Time limit of a search (ms), including its wait. */
const LIMIT_MS = 10_000

/** Passages of one index. */
export interface FoundInIndex {
  readonly passages: readonly FoundPassage[]
  /** The model whose vectors the index has, or null. */
  readonly vectorModel: string | null
}

type Pool = StaticPool<(task: SearchTask) => SearchReply>

/** The thread that searches knowledge bases. It starts with the first search. */
export class SearchJobs {
  readonly #log: Log
  readonly #running = new Set<Promise<unknown>>()
  readonly #loading = new Map<string, Promise<boolean>>()
  #pool: Pool | null = null
  #closing: Promise<void> | null = null

  constructor({ log }: { readonly log: Log }) {
    this.#log = log
  }

  /**
   * Searches an index, which `load` reads when the thread does not have it. Returns null when `load` does. Rejects
   * with EngineError `overloaded`, `timeout`, `closed`, or `internal`, and with the errors of `load`.
   */
  async search(
    key: string,
    question: Question,
    limit: number,
    load: () => Promise<Uint8Array | null>,
  ): Promise<FoundInIndex | null> {
    for (let attempt = 0; attempt < 3; attempt++) {
      const reply = await this.#ask({ kind: 'search', key, question, limit })
      if (reply.kind === 'found') return reply
      if (reply.kind === 'failed') throw new EngineError('internal', reply.message)
      if (!(await this.#loadOnce(key, load))) return null
    }
    throw new EngineError('overloaded', 'the indexes in use do not fit into memory')
  }

  /** Loads an index. Several requests for the same one share the work. Returns false when there is none. */
  #loadOnce(key: string, read: () => Promise<Uint8Array | null>): Promise<boolean> {
    const started = this.#loading.get(key)
    if (started !== undefined) return started
    const loading = this.#load(key, read).finally(() => this.#loading.delete(key))
    this.#loading.set(key, loading)
    return loading
  }

  async #load(key: string, read: () => Promise<Uint8Array | null>): Promise<boolean> {
    const content = await read()
    if (content === null) return false
    const reply = await this.#ask({ kind: 'load', key, content })
    if (reply.kind === 'failed') throw new EngineError('internal', reply.message)
    return true
  }

  /** Finishes running searches. Idempotent. */
  close(): Promise<void> {
    this.#closing ??= this.#finishAll()
    return this.#closing
  }

  async #finishAll(): Promise<void> {
    // Terminating a thread during a job would leave the library's timer running.
    await Promise.allSettled(this.#running)
    await this.#pool?.destroy()
  }

  async #ask(task: SearchTask): Promise<SearchReply> {
    if (this.#closing !== null) throw new EngineError('closed', 'the search thread is closed')
    if (this.#running.size >= MAX_WAITING) throw new EngineError('overloaded', 'too many searches wait')
    this.#pool ??= this.#open()
    const work = this.#pool.createExecutor().setTimeout(LIMIT_MS).exec(task)
    this.#running.add(work)
    try {
      return await work
    } catch (error) {
      if (error instanceof Error && isTimeoutError(error)) {
        throw new EngineError('timeout', 'the search took too long')
      }
      throw error
    } finally {
      this.#running.delete(work)
    }
  }

  #open(): Pool {
    const task = fileURLToPath(new URL('./search-thread.js', import.meta.url))
    const pool: Pool = new StaticPool({ size: 1, task })
    logThreadErrors(pool, 'search', this.#log)
    return pool
  }
}
