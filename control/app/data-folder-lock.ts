import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import { EngineError } from '../../media/base/errors.js'

/**
 * Locks the data folder for this process, so that no second service settles calls that are still live. The
 * system releases the lock with the process, also after SIGKILL. Throws EngineError `config_invalid` when
 * another service holds it.
 * The lock lasts until `close`; keep the returned object.
 */
export function lockDataFolder(folder: string): { close(): void } {
  // Node has no file locks. An exclusive transaction of SQLite holds one and writes nothing.
  const lock = new Sqlite(join(folder, 'service.lock'), { timeout: 0 })
  try {
    lock.pragma('journal_mode = memory')
    lock.exec('begin exclusive')
  } catch (error) {
    lock.close()
    if (!(error instanceof Sqlite.SqliteError && error.code.startsWith('SQLITE_BUSY'))) throw error
    throw new EngineError(
      'config_invalid',
      `PARLEY_DATA: another Parley service uses ${folder}. Wait until it has stopped, or choose another folder.`,
    )
  }
  return { close: () => void lock.close() }
}
