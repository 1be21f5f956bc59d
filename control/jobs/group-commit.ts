import { promisify } from 'node:util'
import type { Db, Trx } from '../db/database.js'

interface Write {
  run(trx: Trx): Promise<unknown>
  readonly done: (value: unknown) => void
  readonly failed: (error: unknown) => void
}

/** The end of this turn of the event loop. */
export const endOfEventLoopTurn = promisify(setImmediate)

/** Longer transactions would keep other writers of SQLite waiting. */
const MAX_TOGETHER = 64

/**
 * Commits small writes of many jobs together: one flush to disk serves all that came while the last
 * transaction ran. Each stays its own: when one fails, every one is run again in a transaction of
 * its own, so that only the failing one fails. Writes must therefore bear being run twice.
 */
export class GroupCommit {
  readonly #db: Db
  #waiting: Write[] = []
  #running: Promise<void> | null = null

  constructor(db: Db) {
    this.#db = db
  }

  write<T>(run: (trx: Trx) => Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#waiting.push({ run, done: (value) => resolve(value as T), failed: reject })
      this.#running ??= this.#drain()
    })
  }

  /** Resolves when nothing waits any more. */
  async idle(): Promise<void> {
    while (this.#running !== null) await this.#running
  }

  async #drain(): Promise<void> {
    while (this.#waiting.length > 0) {
      // Everything that came in during one turn of the loop, from however many sockets, goes together:
      // on SQLite a transaction runs without a pause, so that nothing would join it otherwise.
      await endOfEventLoopTurn()
      const batch = this.#waiting.splice(0, MAX_TOGETHER)
      if (!(await this.#together(batch))) for (const write of batch) await this.#alone(write)
    }
    // In the very turn that found nothing waiting: a later one could miss a write asked for between.
    this.#running = null
  }

  async #together(batch: readonly Write[]): Promise<boolean> {
    if (batch.length === 1) return false
    let values: unknown[]
    try {
      values = await this.#db.transaction().execute(async (trx) => {
        const results: unknown[] = []
        for (const write of batch) results.push(await write.run(trx))
        return results
      })
    } catch {
      // Whose fault it was shows when each runs alone.
      return false
    }
    for (const [index, write] of batch.entries()) write.done(values[index])
    return true
  }

  async #alone(write: Write): Promise<void> {
    try {
      write.done(await this.#db.transaction().execute((trx) => write.run(trx)))
    } catch (error) {
      write.failed(error)
    }
  }
}
