import type { Clock } from '../../../media/base/clock.js'
import { errorText } from '../../../media/base/errors.js'
import type { Log } from '../../../media/base/log.js'
import type { Db } from '../../db/database.js'
import { storingKind } from './storing-job.js'

/** Poll interval (ms). */
const LOOK_MS = 250
/** Maximum time for storing the last events of the calls (ms). */
const EVENTS_MS = 10_000

interface Options {
  readonly db: Db
  readonly nodeId: string
  readonly clock: Pick<Clock, 'now' | 'after'>
  readonly log: Log
  /** Stores the waiting events of calls; the jobs of their recordings are made with them. */
  readonly flush: (ms: number) => Promise<boolean>
  /** Ends the wait at once. */
  readonly signal: AbortSignal
}

/**
 * Waits until the recordings of this node are in the object store, at most `limitMs`: the disk of a drained node may
 * be removed with it. Its job runner has to run meanwhile. Returns the number of recordings that are left, as far as
 * it is known. They stay on the disk, and the next start of the node stores them. Never rejects.
 */
export async function finishStoring(
  { db, nodeId, clock, log, flush, signal }: Options,
  limitMs: number,
): Promise<number> {
  const deadline = clock.now() + limitMs
  await flush(Math.min(EVENTS_MS, limitMs))
  let left: number | null = null
  while (!signal.aborted) {
    try {
      left = await countJobs(db, storingKind(nodeId))
    } catch (error) {
      log.warn({ error: errorText(error) }, 'recordings.left_unknown')
    }
    if (left === 0 || clock.now() >= deadline) break
    await pause(clock, signal)
  }
  if (left !== null && left > 0) log.error({ recordings: left }, 'recordings.left_on_disk')
  return left ?? 0
}

/** Resolves at the next poll, or when the wait ends. */
function pause(clock: Options['clock'], signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve()
  return new Promise((resolve) => {
    const end = () => {
      timer.cancel()
      signal.removeEventListener('abort', end)
      resolve()
    }
    const timer = clock.after(LOOK_MS, end)
    signal.addEventListener('abort', end)
  })
}

async function countJobs(db: Db, kind: string): Promise<number> {
  const row = await db
    .selectFrom('jobs')
    .select((column) => column.fn.countAll().as('count'))
    .where('kind', '=', kind)
    .executeTakeFirst()
  return Number(row?.count ?? 0)
}
