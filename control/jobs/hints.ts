import type { DialectAdapter } from 'kysely'
import type { Db, Trx } from '../db/database.js'

/*
 * Hints to the runners of this process that a job has become due. A hint is given in the transaction of the change, so
 * that a runner has to look again after it. Runners of other processes find the job when they look next.
 */

/** Runners by the adapter of their database, which a database and its transactions share. */
const runners = new WeakMap<DialectAdapter, Set<() => void>>()

/** Tells the runners of this process and database that a job is due. */
export function hintJobs(db: Db | Trx): void {
  for (const hinted of runners.get(db.getExecutor().adapter) ?? []) hinted()
}

/** Calls `hinted` for each hint. Returns the function that ends it. */
export function onJobHint(db: Db, hinted: () => void): () => void {
  const { adapter } = db.getExecutor()
  const known = runners.get(adapter) ?? new Set()
  runners.set(adapter, known.add(hinted))
  return () => void known.delete(hinted)
}
