import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type OpenDatabase, openDatabase } from '../../control/db/database.js'
import { migrate } from '../../control/db/migrate.js'
import { startPostgres } from '../../fixtures/database/postgres.js'
import { silentLog } from '../../media/base/log.js'
import type { Measured } from './figures.js'

/** Measures on a new SQLite file and on a new PostgreSQL database. `suffix` is a part of the figure's name. */
export async function onBothDatabases(
  measure: (database: OpenDatabase, suffix: '' | '@postgres') => Promise<readonly Measured[]>,
): Promise<Measured[]> {
  const folder = await mkdtemp(join(tmpdir(), 'parley-bench-'))
  const postgres = await startPostgres()
  try {
    const urls = [
      ['', `sqlite:${join(folder, 'bench.db')}`],
      ['@postgres', await postgres.createDatabase()],
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
