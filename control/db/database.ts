import { chmodSync, closeSync, existsSync, mkdirSync, openSync } from 'node:fs'
import { dirname } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import Sqlite from 'better-sqlite3'
import {
  CompiledQuery,
  type DatabaseConnection,
  type DialectAdapter,
  type Driver,
  Kysely,
  type Logger,
  type QueryCompiler,
  type QueryResult,
  SqliteAdapter,
  SqliteDialect,
  type SqliteDialectConfig,
  SqliteDriver,
} from 'kysely'
import { EngineError } from '../../media/base/errors.js'
import type { Log } from '../../media/base/log.js'
import { LiteralLimits } from './literal-limits.js'
import { type DatabaseLimits, type Db, DEFAULT_LIMITS, type OpenDatabase } from './open-database.js'
import { openPostgres } from './postgres.js'
import { openSqliteReader } from './sqlite-reader.js'
import { keepStatements } from './statement-cache.js'
import type { Database } from './tables/schema.js'
import { isTransient, ofDriver, unavailable } from './transient-error.js'

export {
  type DatabaseLimits,
  type Db,
  DEFAULT_LIMITS,
  type Dialect,
  type OpenDatabase,
  type Trx,
  UNLIMITED,
} from './open-database.js'

/** Called after every statement with its duration (s) and whether it failed. */
export type QueryObserver = (seconds: number, failed: boolean) => void

function queryLogger(observe: QueryObserver): Logger {
  return ({ level, queryDurationMillis }) => observe(queryDurationMillis / 1000, level === 'error')
}

/**
 * Opens the database at `url` without migrating it: `sqlite:<file>`, `sqlite::memory:`, or
 * `postgres://user:password@host/name`. Throws EngineError `config_invalid` for any other URL.
 */
export function openDatabase(
  url: string,
  log: Log,
  observe: QueryObserver = () => {},
  limits: DatabaseLimits = DEFAULT_LIMITS,
): OpenDatabase {
  if (url.startsWith('sqlite:')) return openSqlite(url.slice('sqlite:'.length), observe)
  if (/^postgres(ql)?:\/\//.test(url)) return openPostgres(url, log, queryLogger(observe), limits)
  throw new EngineError('config_invalid', 'A database URL starts with sqlite: or postgres://')
}

/**
 * Write transactions take the lock when they begin. Otherwise two of them could fail with SQLITE_BUSY when
 * both try to upgrade a read lock.
 */
class ImmediateDriver extends SqliteDriver {
  readonly #database: Sqlite.Database
  #connection: SqliteConnection | undefined

  constructor(config: SqliteDialectConfig, database: Sqlite.Database) {
    super(config)
    this.#database = database
  }

  /**
   * False after a statement failed because the file was full, failing or out of reach, until rows are written again.
   */
  get available(): boolean {
    return this.#connection?.available ?? true
  }

  override async acquireConnection(): Promise<DatabaseConnection> {
    const connection = await super.acquireConnection()
    this.#connection ??= new SqliteConnection(connection, this.#database)
    return this.#connection
  }

  override async beginTransaction(): Promise<void> {
    await this.#connection?.begin()
  }

  override async commitTransaction(): Promise<void> {
    await this.#connection?.commit()
  }

  override async rollbackTransaction(): Promise<void> {
    this.#connection?.rollBack()
  }
}

/** Longest wait for another process that holds the write lock (ms). */
const BUSY_LIMIT_MS = 5000
const BUSY_PAUSE_MS = 5
const LONGEST_BUSY_PAUSE_MS = 50

/**
 * The connection of a process to its SQLite file. It waits for the lock of another process without blocking the thread,
 * unlike SQLite's own timeout. Only the first statement of a transaction waits, because `begin immediate` takes the lock.
 */
class SqliteConnection implements DatabaseConnection {
  readonly #connection: DatabaseConnection
  readonly #database: Sqlite.Database
  /** True from the begin of a transaction to its end, even if SQLite has rolled it back by itself. */
  #transacting = false
  /** True if rows were written and not committed. */
  #wrote = false
  /** The latest error. */
  #failure: unknown = null
  /** As `ImmediateDriver.available`. */
  available = true

  constructor(connection: DatabaseConnection, database: Sqlite.Database) {
    this.#connection = connection
    this.#database = database
  }

  async begin(): Promise<void> {
    // The file failed during the last rollback. As long as it fails, no transaction begins.
    if (this.#database.inTransaction) await this.executeQuery(CompiledQuery.raw('rollback'))
    await this.executeQuery(CompiledQuery.raw('begin immediate'))
    this.#transacting = true
  }

  async commit(): Promise<void> {
    await this.executeQuery(CompiledQuery.raw('commit'))
    this.#transacting = false
    this.#proveWritable()
  }

  /** Marks the file as available if rows were written. Reading proves nothing, because it works on a full disk. */
  #proveWritable(): void {
    if (this.#wrote) this.available = true
    this.#wrote = false
  }

  /** Rolls back. Never throws: the error that ended the transaction is the one to report. */
  rollBack(): void {
    this.#transacting = false
    this.#wrote = false
    // SQLite has rolled back by itself when the disk was full or failed (sqlite.org/lang_transaction.html).
    if (!this.#database.inTransaction) return
    try {
      this.#database.exec('rollback')
    } catch {
      // The next transaction rolls back before it begins, and fails as long as that does.
    }
  }

  async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    // Outside of a transaction the statement would be committed alone.
    if (this.#transacting && !this.#database.inTransaction) {
      throw unavailable('an earlier error ended the transaction', this.#failure)
    }
    const startedMs = performance.now()
    for (let pauseMs = BUSY_PAUSE_MS; ; pauseMs = Math.min(LONGEST_BUSY_PAUSE_MS, pauseMs * 2)) {
      try {
        const result = await this.#connection.executeQuery<R>(query)
        if ((result.numAffectedRows ?? 0n) > 0n) this.#wrote = true
        if (!this.#transacting) this.#proveWritable()
        return result
      } catch (error) {
        if (isBusy(error) && performance.now() - startedMs <= BUSY_LIMIT_MS) {
          await pause(pauseMs)
          continue
        }
        this.#failure = error
        const judged = ofDriver(error)
        if (isTransient(judged) && !isBusy(error)) this.available = false
        throw judged
      }
    }
  }

  streamQuery<R>(query: CompiledQuery, chunkSize: number): AsyncIterableIterator<QueryResult<R>> {
    return this.#connection.streamQuery<R>(query, chunkSize)
  }
}

function isBusy(error: unknown): boolean {
  return error instanceof Sqlite.SqliteError && error.code.startsWith('SQLITE_BUSY')
}

/** SQLite can roll back schema changes. The adapter of Kysely assumes that it cannot. */
class TransactionalAdapter extends SqliteAdapter {
  override get supportsTransactionalDdl(): boolean {
    return true
  }
}

class ImmediateSqliteDialect extends SqliteDialect {
  readonly driver: ImmediateDriver

  constructor(database: Sqlite.Database) {
    const config = { database: keepStatements(database) }
    super(config)
    this.driver = new ImmediateDriver(config, database)
  }

  override createDriver(): Driver {
    return this.driver
  }

  override createAdapter(): DialectAdapter {
    return new TransactionalAdapter()
  }

  override createQueryCompiler(): QueryCompiler {
    return new LiteralLimits()
  }
}

function openSqlite(file: string, observe: QueryObserver): OpenDatabase {
  if (file === ':memory:') return useSqlite(new Sqlite(file), observe, null)
  makeOwnerOnly(file)
  const reads = openSqliteReader(file, queryLogger(observe))
  return useSqlite(new Sqlite(file, { timeout: BUSY_LIMIT_MS }), observe, reads)
}

/**
 * Creates the file, and denies it and its companions to other users: it contains transcripts and numbers.
 * SQLite gives new companions the mode of the file.
 */
function makeOwnerOnly(file: string): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  closeSync(openSync(file, 'a', 0o600))
  for (const path of [file, `${file}-wal`, `${file}-shm`]) if (existsSync(path)) chmodSync(path, 0o600)
}

/** Opens a serialized SQLite database in memory. */
export function openSqliteImage(image: Buffer): OpenDatabase {
  return useSqlite(new Sqlite(image), () => {}, null)
}

/** A database in memory has no second connection: `reads` is null. */
function useSqlite(database: Sqlite.Database, observe: QueryObserver, reads: Db | null): OpenDatabase {
  database.pragma('journal_mode = WAL')
  // With NORMAL the last commits would be lost after a power failure, and a call could be dialled twice.
  database.pragma('synchronous = FULL')
  database.pragma('foreign_keys = ON')
  // From now on `SqliteConnection` waits.
  database.pragma('busy_timeout = 0')
  const dialect = new ImmediateSqliteDialect(database)
  const db = new Kysely<Database>({ dialect, log: queryLogger(observe) })
  let closing: Promise<void> | undefined
  return {
    db,
    reads: reads ?? db,
    dialect: 'sqlite',
    get available() {
      return dialect.driver.available
    },
    close() {
      // Kysely does not close a database that was never used.
      closing ??= Promise.all([reads?.destroy(), db.destroy()])
        .finally(() => database.close())
        .then(() => {})
      return closing
    },
  }
}
