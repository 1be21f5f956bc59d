import { promisify } from 'node:util'
import type { Db, Trx } from '../db/database.js'

interface Write {
  run(trx: Trx): Promise<unknown>
  readonly done: (value: unknown) => void
  readonly failed: (error: unknown) => void
}

/** Resolves at the end of the current turn of the event loop. */
export const endOfEventLoopTurn = promisify(setImmediate)

/** Maximum writes per transaction. Longer transactions would block other writers of SQLite. */
const MAX_BATCH = 64

/**
 * Commits small writes of many jobs in one transaction, which needs one flush to disk. If a write fails,
 * all writes of the batch run again in separate transactions, so that only the failing one fails. Writes
 * must therefore tolerate being run twice.
 */
export class GroupCommit {
  readonly #db: Db
  #pending: Write[] = []
  #running: Promise<void> | null = null

  constructor(db: Db) {
    this.#db = db
  }

  write<T>(run: (trx: Trx) => Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#pending.push({ run, done: (value) => resolve(value as T), failed: reject })
      this.#running ??= this.#drain()
    })
  }

  /** Resolves when no write is pending. */
  async idle(): Promise<void> {
    while (this.#running !== null) await this.#running
  }

  async #drain(): Promise<void> {
    while (this.#pending.length > 0) {
      // All writes of one turn of the event loop are batched, from all sockets. On SQLite a transaction
      // runs without yielding, so other writes could not join it later.
      await endOfEventLoopTurn()
      const batch = this.#pending.splice(0, MAX_BATCH)
      if (!(await this.#commitBatch(batch))) for (const write of batch) await this.#commitSingle(write)
    }
    // Set in the same turn that found the queue empty. Later, a write queued in between would be missed.
    this.#running = null
  }

  async #commitBatch(batch: readonly Write[]): Promise<boolean> {
    if (batch.length === 1) return false
    let values: unknown[]
    try {
      values = await this.#db.transaction().execute(async (trx) => {
        const results: unknown[] = []
        for (const write of batch) results.push(await write.run(trx))
        return results
      })
    } catch {
      // Run separately to find the write that failed.
      return false
    }
    for (const [index, write] of batch.entries()) write.done(values[index])
    return true
  }

  async #commitSingle(write: Write): Promise<void> {
    try {
      write.done(await this.#db.transaction().execute((trx) => write.run(trx)))
    } catch (error) {
      write.failed(error)
    }
  }
}
