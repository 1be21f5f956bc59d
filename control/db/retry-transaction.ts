import type { Db, Trx } from './database.js'
import { isTransient } from './transient-error.js'

const TRIES = 4

/**
 * A transaction that is run again at once when the database undid it for another's sake (deadlock,
 * serialization). For transactions that change many rows.
 */
export async function retryTransaction<T>(db: Db, run: (trx: Trx) => Promise<T>): Promise<T> {
  for (let round = 1; ; round++) {
    try {
      return await db.transaction().execute(run)
    } catch (error) {
      if (round === TRIES || !isTransient(error)) throw error
    }
  }
}
