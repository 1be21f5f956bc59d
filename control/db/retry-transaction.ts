import type { Db, Trx } from './database.js'
import { isTransient } from './transient-error.js'

const MAX_ATTEMPTS = 4

/**
 * Runs a transaction and repeats it immediately after a deadlock or serialization failure. For transactions
 * that change many rows.
 */
export async function retryTransaction<T>(db: Db, run: (trx: Trx) => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await db.transaction().execute(run)
    } catch (error) {
      if (attempt === MAX_ATTEMPTS || !isTransient(error)) throw error
    }
  }
}
