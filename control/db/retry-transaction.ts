import type { Db, Trx } from './database.js'
import { isTransient } from './transient-error.js'

const MAX_ATTEMPTS = 4

/**
 * Runs a transaction and repeats it immediately after a deadlock, a serialization failure or a broken connection. For
 * transactions that change many rows. A commit that fails is not repeated: the transaction may have taken effect, and a
 * second one would act on top of it.
 */
export async function retryTransaction<T>(db: Db, run: (trx: Trx) => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    let isCommitting = false
    try {
      return await db.transaction().execute(async (trx) => {
        const result = await run(trx)
        isCommitting = true
        return result
      })
    } catch (error) {
      if (attempt === MAX_ATTEMPTS || isCommitting || !isTransient(error)) throw error
    }
  }
}
