import { sql } from 'kysely'
import type { Clock } from '../../media/base/clock.js'
import { errorText } from '../../media/base/errors.js'
import type { Log } from '../../media/base/log.js'
import { Scope } from '../../media/base/scope.js'
import type { OpenDatabase } from './database.js'

/** A clock whose `wall` is the database's, so that processes on several machines agree on leases. */
export interface DatabaseClock extends Clock {
  close(): Promise<void>
}

const REFRESH_MS = 60_000

/**
 * On PostgreSQL the offset of the server's clock is measured now and every minute, to half the
 * round trip; SQLite is on this machine, and its clock is ours.
 */
export async function openDatabaseClock(
  { db, dialect: engine }: Pick<OpenDatabase, 'db' | 'dialect'>,
  clock: Clock,
  log: Log,
): Promise<DatabaseClock> {
  const scope = new Scope()
  let offsetMs = 0
  let running: Promise<void> = Promise.resolve()

  async function measure(): Promise<void> {
    const before = clock.now()
    const wall = clock.wall()
    const { rows } = await sql<{ at: number }>`
      select cast(extract(epoch from clock_timestamp()) * 1000 as bigint) as at`.execute(db)
    const at = rows[0]?.at ?? wall
    offsetMs = Math.round(at - (wall + (clock.now() - before) / 2))
  }

  function again(): void {
    scope.after(clock, REFRESH_MS, () => {
      running = measure()
        .catch((error: unknown) => {
          log.warn({ error: errorText(error) }, "the database's time was not read; the last offset stays")
        })
        .finally(again)
    })
  }

  if (engine === 'postgres') {
    await measure()
    again()
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
