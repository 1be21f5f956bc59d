import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import Sqlite from 'better-sqlite3'
import {
  CompiledQuery,
  type DatabaseConnection,
  type DialectAdapter,
  type Driver,
  Kysely,
  type Logger,
  PostgresDialect,
  SqliteAdapter,
  SqliteDialect,
  type SqliteDialectConfig,
  SqliteDriver,
  type Transaction,
} from 'kysely'
import pg from 'pg'
import { EngineError } from '../../media/base/errors.js'
import type { Log } from '../../media/base/log.js'
import type { Database } from './tables/schema.js'

export type Dialect = 'sqlite' | 'postgres'

/** What store functions take: the database or a transaction, never the one inside the other. */
export type Db = Kysely<Database>
export type Trx = Transaction<Database>

export interface OpenDatabase {
  readonly db: Db
  readonly dialect: Dialect
  close(): Promise<void>
}

/** Hears of every statement: how long it took, and whether it failed. */
export type QueryObserver = (seconds: number, failed: boolean) => void

function told(seen: QueryObserver): Logger {
  return ({ level, queryDurationMillis }) => seen(queryDurationMillis / 1000, level === 'error')
}

/**
 * Opens (not migrates) the store named by `url`: `sqlite:<file>`, `sqlite::memory:`, or
 * `postgres://user:password@host/name`. Throws EngineError `config_invalid` for anything else.
 */
export function openDatabase(url: string, log: Log, seen: QueryObserver = () => {}): OpenDatabase {
  if (url.startsWith('sqlite:')) return openSqlite(url.slice('sqlite:'.length), seen)
  if (/^postgres(ql)?:\/\//.test(url)) return openPostgres(url, log, seen)
  throw new EngineError('config_invalid', 'A database URL starts with sqlite: or postgres://')
}

/**
 * Write transactions take the lock when they begin, so that two of them queue instead of failing
 * half-way with SQLITE_BUSY when a read lock cannot be upgraded.
 */
class ImmediateDriver extends SqliteDriver {
  override async beginTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw('begin immediate'))
  }
}

/** SQLite rolls schema changes back like any other, which Kysely's adapter does not assume. */
class TransactionalAdapter extends SqliteAdapter {
  override get supportsTransactionalDdl(): boolean {
    return true
  }
}

class ImmediateSqliteDialect extends SqliteDialect {
  readonly #config: SqliteDialectConfig

  constructor(config: SqliteDialectConfig) {
    super(config)
    this.#config = config
  }

  override createDriver(): Driver {
    return new ImmediateDriver(this.#config)
  }

  override createAdapter(): DialectAdapter {
    return new TransactionalAdapter()
  }
}

function openSqlite(file: string, seen: QueryObserver): OpenDatabase {
  if (file !== ':memory:') mkdirSync(dirname(file), { recursive: true })
  return useSqlite(new Sqlite(file, { timeout: 5000 }), seen)
}

/** Opens a serialized SQLite database in memory. */
export function openSqliteImage(image: Buffer): OpenDatabase {
  return useSqlite(new Sqlite(image), () => {})
}

function useSqlite(database: Sqlite.Database, seen: QueryObserver): OpenDatabase {
  database.pragma('journal_mode = WAL')
  // NORMAL would lose the last commits on power loss: a call could be dialled twice.
  database.pragma('synchronous = FULL')
  database.pragma('foreign_keys = ON')
  const db = new Kysely<Database>({ dialect: new ImmediateSqliteDialect({ database }), log: told(seen) })
  let closing: Promise<void> | undefined
  return {
    db,
    dialect: 'sqlite',
    close() {
      // Kysely closes a database it never used not at all.
      closing ??= db.destroy().finally(() => database.close())
      return closing
    },
  }
}

/** bigint and numeric columns as numbers, like SQLite gives them. */
function safeInteger(text: string): number {
  const value = Number(text)
  if (!Number.isSafeInteger(value)) throw new EngineError('internal', 'a database integer exceeds 2^53')
  return value
}

const INT8 = 20
const NUMERIC = 1700

function openPostgres(url: string, log: Log, seen: QueryObserver): OpenDatabase {
  const types = new pg.TypeOverrides()
  types.setTypeParser(INT8, safeInteger)
  types.setTypeParser(NUMERIC, safeInteger)
  const pool = new pg.Pool({ connectionString: url, max: 10, connectionTimeoutMillis: 5000, types })
  // An idle connection that dies is replaced by the pool; without a listener it would end the process.
  pool.on('error', (error) => log.warn({ error: error.message }, 'database connection lost'))
  const db = new Kysely<Database>({ dialect: new PostgresDialect({ pool }), log: told(seen) })
  let closing: Promise<void> | undefined
  return {
    db,
    dialect: 'postgres',
    close() {
      closing ??= db.destroy().finally(() => (pool.ended ? undefined : pool.end()))
      return closing
    },
  }
}
