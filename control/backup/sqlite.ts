import Sqlite from 'better-sqlite3'
import { EngineError, errorText } from '../../media/base/errors.js'

/** All pages in one step: a copy in several steps starts again after every write of the service. */
const ALL_PAGES = 2 ** 31 - 1

/** Copies a database that may be in use with SQLite's online backup, and checks the copy. */
export async function copySqlite(source: string, copy: string): Promise<void> {
  let database: Sqlite.Database
  try {
    database = new Sqlite(source, { readonly: true, fileMustExist: true, timeout: 5000 })
  } catch (error) {
    throw new EngineError('config_invalid', `there is no database ${source}`, { cause: error })
  }
  try {
    await database.backup(copy, { progress: () => ALL_PAGES })
  } catch (error) {
    throw new EngineError('storage_failed', `the database could not be copied: ${errorText(error)}`, {
      cause: error,
    })
  } finally {
    database.close()
  }
  checkSqlite(copy, copy)
}

/**
 * Checks that a file is an intact database of this service and folds its write-ahead log into it. Throws
 * EngineError `config_invalid` otherwise; messages call the file `name`.
 */
export function checkSqlite(file: string, name: string): void {
  let database: Sqlite.Database | null = null
  try {
    database = new Sqlite(file, { fileMustExist: true })
    const [result] = database.pragma('integrity_check', { simple: false }) as { integrity_check: string }[]
    if (result?.integrity_check !== 'ok') throw new Error(result?.integrity_check ?? 'no result')
    database.prepare('select name from kysely_migration limit 1').get()
    database.pragma('journal_mode = DELETE')
  } catch (error) {
    throw new EngineError('config_invalid', `${name} is not an intact backup: ${errorText(error)}`, {
      cause: error,
    })
  } finally {
    database?.close()
  }
}
