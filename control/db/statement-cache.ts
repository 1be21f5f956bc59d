import type Sqlite from 'better-sqlite3'
import type { SqliteDatabase } from 'kysely'

/** Statements that one connection keeps prepared. */
const MOST_STATEMENTS = 1_000
/** Longest statement that is kept (characters). Longer ones write many rows at once. */
const LONGEST = 8_000

/**
 * Keeps the statements of an SQLite connection prepared: preparing takes as long as running a short statement. The
 * ones not used for longest are dropped. A statement that is still being read gets a second one beside it.
 */
export function keepStatements(database: Sqlite.Database): SqliteDatabase {
  const kept = new Map<string, Sqlite.Statement<unknown[]>>()
  return {
    close: () => database.close(),
    prepare(text) {
      const known = kept.get(text)
      if (known?.busy || text.length > LONGEST) return database.prepare<unknown[]>(text)
      const statement = known ?? database.prepare<unknown[]>(text)
      kept.delete(text)
      kept.set(text, statement)
      const [oldest] = kept.size > MOST_STATEMENTS ? kept.keys() : []
      if (oldest !== undefined) kept.delete(oldest)
      return statement
    },
  }
}
