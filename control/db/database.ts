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
  type PostgresCursor,
  PostgresDialect,
  type PostgresPool,
  type PostgresPoolClient,
  type PostgresQueryResult,
  type QueryCompiler,
  type QueryResult,
  SqliteAdapter,
  SqliteDialect,
  type SqliteDialectConfig,
  SqliteDriver,
  type Transaction,
} from 'kysely'
import pg from 'pg'
import { EngineError } from '../../media/base/errors.js'
import type { Log } from '../../media/base/log.js'
import { LiteralLimits } from './literal-limits.js'
import { isOutdatedPlan, NamedStatements } from './named-statements.js'
import { openSqliteReader } from './sqlite-reader.js'
import { keepStatements } from './statement-cache.js'
import type { Database } from './tables/schema.js'

export type Dialect = 'sqlite' | 'postgres'

/** Database or transaction. Inside a transaction use only the transaction. */
export type Db = Kysely<Database>
export type Trx = Transaction<Database>

export interface OpenDatabase {
  readonly db: Db
  /**
   * For statements that may read a whole table: they never block this thread, nor the statements of `db`. Sees
   * all committed changes. Without transactions.
   */
  readonly reads: Db
  readonly dialect: Dialect
  close(): Promise<void>
}

/** Called after every statement with its duration (s) and whether it failed. */
export type QueryObserver = (seconds: number, failed: boolean) => void

function queryLogger(observe: QueryObserver): Logger {
  return ({ level, queryDurationMillis }) => observe(queryDurationMillis / 1000, level === 'error')
}

/**
 * Opens the database at `url` without migrating it: `sqlite:<file>`, `sqlite::memory:`, or
 * `postgres://user:password@host/name`. Throws EngineError `config_invalid` for any other URL.
 */
export function openDatabase(url: string, log: Log, observe: QueryObserver = () => {}): OpenDatabase {
  if (url.startsWith('sqlite:')) return openSqlite(url.slice('sqlite:'.length), observe)
  if (/^postgres(ql)?:\/\//.test(url)) return openPostgres(url, log, observe)
  throw new EngineError('config_invalid', 'A database URL starts with sqlite: or postgres://')
}

/**
 * Write transactions take the lock when they begin. Otherwise two of them could fail with SQLITE_BUSY when
 * both try to upgrade a read lock.
 */
class ImmediateDriver extends SqliteDriver {
  #connection: PatientConnection | undefined

  override async acquireConnection(): Promise<DatabaseConnection> {
    const connection = await super.acquireConnection()
    this.#connection ??= new PatientConnection(connection)
    return this.#connection
  }

  override async beginTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw('begin immediate'))
  }
}

/** Longest wait for another process that holds the write lock (ms). */
const BUSY_LIMIT_MS = 5000
const BUSY_PAUSE_MS = 5
const LONGEST_BUSY_PAUSE_MS = 50

/**
 * Waits for the lock of another process without blocking the thread, unlike SQLite's own timeout. Only the
 * first statement of a transaction waits, because `begin immediate` takes the lock.
 */
class PatientConnection implements DatabaseConnection {
  readonly #connection: DatabaseConnection

  constructor(connection: DatabaseConnection) {
    this.#connection = connection
  }

  async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    const startedMs = performance.now()
    for (let pauseMs = BUSY_PAUSE_MS; ; pauseMs = Math.min(LONGEST_BUSY_PAUSE_MS, pauseMs * 2)) {
      try {
        return await this.#connection.executeQuery<R>(query)
      } catch (error) {
        if (!isBusy(error) || performance.now() - startedMs > BUSY_LIMIT_MS) throw error
      }
      await pause(pauseMs)
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
  // From now on `PatientConnection` waits.
  database.pragma('busy_timeout = 0')
  const db = new Kysely<Database>({
    dialect: new ImmediateSqliteDialect({ database: keepStatements(database) }),
    log: queryLogger(observe),
  })
  let closing: Promise<void> | undefined
  return {
    db,
    reads: reads ?? db,
    dialect: 'sqlite',
    close() {
      // Kysely does not close a database that was never used.
      closing ??= Promise.all([reads?.destroy(), db.destroy()])
        .finally(() => database.close())
        .then(() => {})
      return closing
    },
  }
}

/** Parses bigint and numeric columns as numbers, as in SQLite. */
function safeInteger(text: string): number {
  const value = Number(text)
  if (!Number.isSafeInteger(value)) throw new EngineError('internal', 'a database integer exceeds 2^53')
  return value
}

/** Connections for long statements, the time limit of a statement and of its wait for a connection (ms). */
const READS_MAX = 2
const READS_LIMIT_MS = 10_000
const READS_WAIT_MS = 30_000

/**
 * Client of PostgreSQL whose results become garbage with their query. In pg each promise of `query` hangs on a function
 * that V8 allocates in the old generation (a function literal that is assigned to a property). The collector of the
 * young generation then keeps the rows of every query until the old one is collected: 100 MB for 100,000 calls.
 */
class PromptClient implements PostgresPoolClient {
  readonly #client: pg.PoolClient
  readonly #statements: NamedStatements

  constructor(client: pg.PoolClient, statements: NamedStatements) {
    this.#client = client
    this.#statements = statements
  }

  query<R>(text: string, values: readonly unknown[]): Promise<PostgresQueryResult<R>>
  query<R>(cursor: PostgresCursor<R>): PostgresCursor<R>
  query<R>(
    text: string | PostgresCursor<R>,
    values: readonly unknown[] = [],
  ): Promise<PostgresQueryResult<R>> | PostgresCursor<R> {
    if (typeof text !== 'string') throw new EngineError('internal', 'the database has no cursors')
    return new Promise<PostgresQueryResult<R>>((resolve, reject) => {
      const send = (name: string | undefined, failed: (error: Error) => void): void => {
        const query = { text, values: [...values], ...(name === undefined ? {} : { name }) }
        this.#client.query(query, (error: Error | null, result: unknown) => {
          if (error === null || error === undefined) resolve(result as PostgresQueryResult<R>)
          else failed(error)
        })
      }
      // Without values the text is sent as it is, as `begin` is.
      const name = values.length === 0 ? undefined : this.#statements.nameOf(text)
      send(name, (error) => {
        if (name === undefined || !isOutdatedPlan(error)) {
          reject(error)
          return
        }
        this.#statements.unname(text)
        // Within a transaction, which has failed, this fails too. The transaction is repeated as after a deadlock.
        send(undefined, () => reject(error))
      })
    })
  }

  release(): void {
    this.#client.release()
  }
}

const INT8 = 20
const NUMERIC = 1700

function openPostgres(url: string, log: Log, observe: QueryObserver): OpenDatabase {
  const types = new pg.TypeOverrides()
  types.setTypeParser(INT8, safeInteger)
  types.setTypeParser(NUMERIC, safeInteger)
  const common = { connectionString: url, connectionTimeoutMillis: 5000, types }
  const pool = new pg.Pool({ ...common, max: 10 })
  const readPool = new pg.Pool({
    ...common,
    // A search waits for other searches, not for a full pool.
    connectionTimeoutMillis: READS_WAIT_MS,
    max: READS_MAX,
    statement_timeout: READS_LIMIT_MS,
  })
  const openPool = (pool: pg.Pool): Db => {
    const statements = new NamedStatements()
    // The pool replaces a failed idle connection. Without a listener the error would end the process.
    pool.on('error', (error) => log.warn({ error: error.message }, 'database.connection_lost'))
    const clients = new WeakMap<pg.PoolClient, PromptClient>()
    const prompt: PostgresPool = {
      async connect() {
        const client = await pool.connect()
        // The same object each time: Kysely keeps what it makes of a new one until the old generation is collected.
        const known = clients.get(client) ?? new PromptClient(client, statements)
        clients.set(client, known)
        return known
      },
      end: () => pool.end(),
    }
    return new Kysely<Database>({ dialect: new PostgresDialect({ pool: prompt }), log: queryLogger(observe) })
  }
  const db = openPool(pool)
  const reads = openPool(readPool)
  let closing: Promise<void> | undefined
  return {
    db,
    reads,
    dialect: 'postgres',
    close() {
      const end = (db: Db, pool: pg.Pool) => db.destroy().finally(() => (pool.ended ? undefined : pool.end()))
      closing ??= Promise.all([end(reads, readPool), end(db, pool)]).then(() => {})
      return closing
    },
  }
}
