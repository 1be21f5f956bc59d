import { execFileSync } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import { type OpenDatabase, openDatabase } from '../../control/db/database.js'
import { migrate } from '../../control/db/migrate.js'
import { overUnixSocket, startPostgres } from '../../fixtures/database/postgres.js'
import { silentLog } from '../../media/base/log.js'
import type { Measured } from './figures.js'

/**
 * Measures on a new SQLite file and on a new PostgreSQL database, over a Unix-domain socket. `suffix` is a part of the
 * figure's name.
 */
export async function onBothDatabases(
  measure: (database: OpenDatabase, suffix: '' | '@postgres') => Promise<readonly Measured[]>,
): Promise<Measured[]> {
  const folder = await mkdtemp(join(tmpdir(), 'parley-bench-'))
  const postgres = await startPostgres()
  try {
    const urls = [
      ['', `sqlite:${join(folder, 'bench.db')}`],
      ['@postgres', await overUnixSocket(await postgres.createDatabase())],
    ] as const
    const figures: Measured[] = []
    for (const [suffix, url] of urls) {
      const database = openDatabase(url, silentLog)
      try {
        await migrate(database)
        figures.push(...(await measure(database, suffix)))
      } finally {
        await database.close()
      }
    }
    return figures
  } finally {
    await postgres.stop()
    await rm(folder, { recursive: true })
  }
}

/**
 * Writes the rows of a filled database to the disk, so that this does not go on while the bench measures. PostgreSQL gets the
 * statistics that its autovacuum collects in an installation. SQLite gets none, because the service never runs `analyze`.
 */
export async function settle({ db, dialect }: OpenDatabase): Promise<void> {
  if (dialect === 'sqlite') {
    await sql`pragma wal_checkpoint(truncate)`.execute(db)
    return
  }
  await sql`vacuum analyze`.execute(db)
  await sql`checkpoint`.execute(db)
  // The server of the tests does not wait for its disk: the kernel still holds hundreds of megabytes.
  execFileSync('sync')
}
