import { sql } from 'kysely'
import type { Clock } from '../../media/base/clock.js'
import { EngineError, errorText } from '../../media/base/errors.js'
import type { Log } from '../../media/base/log.js'
import { Scope } from '../../media/base/scope.js'
import type { OpenDatabase } from './database.js'

/**
 * A clock whose `wall` is the time of the database, so that processes on several machines agree on leases. Between two
 * measurements it follows the monotonic clock: it does not jump when the time of this machine is set.
 */
export interface DatabaseClock extends Clock {
  /** Time (ms) since a measurement found that the time of the database was set; infinite if none did. */
  readonly steadyMs: number
  close(): Promise<void>
}

const REFRESH_MS = 20_000
/** Difference (ms) between two measurements above which the time was set. A smaller one is drift. */
const STEP_MS = 1_000

/**
 * Opens a database clock. It measures the time now and every 20 s: on PostgreSQL that of the server, accurate to half the
 * round trip; SQLite runs on this machine.
 */
export async function openDatabaseClock(
  { db, dialect }: Pick<OpenDatabase, 'db' | 'dialect'>,
  clock: Clock,
  log: Log,
): Promise<DatabaseClock> {
  const scope = new Scope()
  /** Unix time minus monotonic time (ms). */
  let offsetMs = 0
  let steppedAt = Number.NEGATIVE_INFINITY
  let running: Promise<void> = Promise.resolve()

  async function readOffset(): Promise<number> {
    if (dialect === 'sqlite') return clock.wall() - clock.now()
    const startedMs = clock.now()
    const { rows } = await sql<{ at: number }>`
      select cast(extract(epoch from clock_timestamp()) * 1000 as bigint) as at`.execute(db)
    const [row] = rows
    if (row === undefined) throw new EngineError('internal', 'the database has no time')
    return row.at - (startedMs + clock.now()) / 2
  }

  async function measure(): Promise<void> {
    const measured = await readOffset()
    const changeMs = Math.round(measured - offsetMs)
    if (Math.abs(changeMs) > STEP_MS) {
      steppedAt = clock.now()
      log.warn({ changeMs }, 'database_clock.stepped')
    }
    offsetMs = measured
  }

  function scheduleRefresh(): void {
    scope.after(clock, REFRESH_MS, () => {
      running = measure()
        .catch((error: unknown) => {
          log.warn({ error: errorText(error) }, 'database_clock.refresh_failed')
        })
        .finally(scheduleRefresh)
    })
  }

  offsetMs = await readOffset()
  scheduleRefresh()
  return {
    now: () => clock.now(),
    wall: () => Math.round(offsetMs + clock.now()),
    after: (ms, run) => clock.after(ms, run),
    get steadyMs() {
      return clock.now() - steppedAt
    },
    async close() {
      await scope.close()
      await running
    },
  }
}
