import { sql } from 'kysely'
import type { Clock } from '../../media/base/clock.js'
import { errorText } from '../../media/base/errors.js'
import type { Log } from '../../media/base/log.js'
import { Scope } from '../../media/base/scope.js'
import type { OpenDatabase } from './database.js'

/**
 * A clock whose `wall` is the time of the database, so that processes on several machines agree on leases.
 */
export interface DatabaseClock extends Clock {
  close(): Promise<void>
}

const REFRESH_MS = 60_000

/**
 * Opens a database clock. For PostgreSQL it measures the offset of the server clock now and every minute,
 * accurate to half the round trip. SQLite runs on this machine, so its offset is 0.
 */
export async function openDatabaseClock(
  { db, dialect }: Pick<OpenDatabase, 'db' | 'dialect'>,
  clock: Clock,
  log: Log,
): Promise<DatabaseClock> {
  const scope = new Scope()
  let offsetMs = 0
  let running: Promise<void> = Promise.resolve()

  async function measure(): Promise<void> {
    const startedMs = clock.now()
    const wall = clock.wall()
    const { rows } = await sql<{ at: number }>`
      select cast(extract(epoch from clock_timestamp()) * 1000 as bigint) as at`.execute(db)
    const at = rows[0]?.at ?? wall
    offsetMs = Math.round(at - (wall + (clock.now() - startedMs) / 2))
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

  if (dialect === 'postgres') {
    await measure()
    scheduleRefresh()
  }
  return {
    now: () => clock.now(),
    wall: () => clock.wall() + offsetMs,
    after: (ms, run) => clock.after(ms, run),
    async close() {
      await scope.close()
      await running
    },
  }
}
