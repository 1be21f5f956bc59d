import { randomBytes } from 'node:crypto'
import { copyFile, link, mkdir, open, rm, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { EngineError } from '../../media/base/errors.js'
import { silentLog } from '../../media/base/log.js'
import { type Db, openDatabase, UNLIMITED } from '../db/database.js'
import { migrate } from '../db/migrate.js'
import { dumpPostgres, restorePostgres } from './postgres.js'
import { checkSqlite, copySqlite } from './sqlite.js'

/** A backup holds password hashes, encrypted secrets and transcripts: only its owner may read it. */
const MODE = 0o600

/**
 * Writes a consistent copy of the database to a new file while the service runs. The copy is an SQLite
 * database for SQLite and a pg_dump archive for PostgreSQL. The file appears when it is complete. Returns its
 * size (bytes). Throws EngineError `config_invalid` when the file exists or the database does not,
 * `storage_failed` when the copy fails.
 */
export async function backUp(databaseUrl: string, file: string): Promise<number> {
  await refuseExisting(file)
  await mkdir(dirname(file), { recursive: true })
  const partial = beside(file)
  try {
    // Created with its final mode before it is filled, so that no other user can read it meanwhile.
    await (await open(partial, 'wx', MODE)).close()
    const source = sqliteFile(databaseUrl)
    if (source === null) await dumpPostgres(databaseUrl, partial)
    else await copySqlite(source, partial)
    await flush(partial)
    await appear(partial, file)
  } finally {
    await rm(partial, { force: true })
  }
  return (await stat(file)).size
}

/** Which rights a restore ends. If a field is false, these rights stay as the backup has them. */
export interface Revocation {
  /** Ends every session of the dashboard and every mailed link. */
  readonly sessions: boolean
  /** Revokes every API key. */
  readonly keys: boolean
}

/**
 * Restores an empty database from a file of `backUp` and brings its schema up to date. Rights that were revoked after
 * the backup are valid again, unless `revocation` ends them; `now` is Unix time (ms). Never changes existing data.
 * Throws EngineError `config_invalid` when the database exists or the file is not a backup of this kind of database.
 */
export async function restore(
  databaseUrl: string,
  file: string,
  revocation: Revocation,
  now: number,
): Promise<void> {
  const target = sqliteFile(databaseUrl)
  if (target === null) {
    await restorePostgres(databaseUrl, file)
  } else {
    await refuseExisting(target)
    await mkdir(dirname(target), { recursive: true })
    const partial = beside(target)
    try {
      await copyFile(file, partial)
      checkSqlite(partial, file)
      await flush(partial)
      await appear(partial, target)
    } finally {
      await rm(partial, { force: true })
    }
  }
  const database = openDatabase(databaseUrl, silentLog, () => {}, UNLIMITED)
  try {
    await migrate(database)
    await revoke(database.db, revocation, now)
  } finally {
    await database.close()
  }
}

async function revoke(db: Db, { sessions, keys }: Revocation, now: number): Promise<void> {
  await db.transaction().execute(async (trx) => {
    if (sessions) {
      await trx.deleteFrom('sessions').execute()
      await trx.updateTable('mailTokens').set({ usedAt: now }).where('usedAt', 'is', null).execute()
    }
    if (keys) {
      await trx
        .updateTable('apiKeys')
        .set({ revokedAt: now, overlapUntil: null })
        .where('revokedAt', 'is', null)
        .execute()
    }
  })
}

/** Returns the file of an SQLite URL, or null for a PostgreSQL URL. */
function sqliteFile(databaseUrl: string): string | null {
  if (!databaseUrl.startsWith('sqlite:')) return null
  const file = databaseUrl.slice('sqlite:'.length)
  if (file === ':memory:') throw new EngineError('config_invalid', 'a database in memory has no backup')
  return file
}

const beside = (file: string): string => `${file}.${process.pid}.${randomBytes(4).toString('hex')}.partial`

async function refuseExisting(file: string): Promise<void> {
  const there = await stat(file).then(
    () => true,
    () => false,
  )
  if (there) throw new EngineError('config_invalid', `${file} exists already; it is never overwritten`)
}

/** Moves a finished file to its name. Fails when the name was taken meanwhile. */
async function appear(partial: string, file: string): Promise<void> {
  try {
    await link(partial, file)
  } catch (error) {
    throw new EngineError('storage_failed', `${file} cannot be made`, { cause: error })
  }
}

async function flush(file: string): Promise<void> {
  const handle = await open(file, 'r+')
  try {
    await handle.chmod(MODE)
    await handle.sync()
  } finally {
    await handle.close()
  }
}
