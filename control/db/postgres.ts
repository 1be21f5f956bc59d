import {
  type DatabaseConnection,
  type Driver,
  Kysely,
  type Logger,
  PostgresDialect,
  type PostgresDialectConfig,
  PostgresDriver,
  type PostgresPool,
} from 'kysely'
import pg from 'pg'
import { EngineError } from '../../media/base/errors.js'
import type { Log } from '../../media/base/log.js'
import { NamedStatements } from './named-statements.js'
import type { DatabaseLimits, Db, OpenDatabase } from './open-database.js'
import { connectionLost, PromptClient, type WriteState } from './postgres-client.js'
import type { Database } from './tables/schema.js'

/** Time limit of the wait for a connection of the pool, and for the server to accept a new one (ms). */
const CONNECT_MS = 5_000
/**
 * Number of connections for lists and reports, time limit of their statements, and of the wait for a connection (ms).
 */
const READS_MAX = 2
const READS_LIMIT_MS = 10_000
const READS_WAIT_MS = 30_000
/**
 * Time (ms) after the limit of a statement, at which the server ends it, until a server that is silent counts as
 * lost.
 */
const ANSWER_MS = 1_000
/** Time without traffic after which the system asks whether the peer of a connection is alive (ms). */
const KEEP_ALIVE_MS = 5_000
/** Pause between two tries to connect (ms). Other statements fail at once meanwhile. */
const RETRY_MS = 500

const INT8 = 20
const NUMERIC = 1700

/** Parses bigint and numeric columns as numbers, as in SQLite. */
function safeInteger(text: string): number {
  const value = Number(text)
  if (!Number.isSafeInteger(value)) throw new EngineError('internal', 'a database integer exceeds 2^53')
  return value
}

/** Driver whose transactions fail with their own error, also when the connection is too broken to roll back. */
class RollbackDriver extends PostgresDriver {
  override async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    try {
      await super.rollbackTransaction(connection)
    } catch {
      // A rollback fails only when the connection is lost. The server rolls back by itself then, and `PromptClient` keeps
      // the connection out of the pool. The error that led here is the one to report.
    }
  }
}

class RollbackDialect extends PostgresDialect {
  readonly #config: PostgresDialectConfig

  constructor(config: PostgresDialectConfig) {
    super(config)
    this.#config = config
  }

  override createDriver(): Driver {
    return new RollbackDriver(this.#config)
  }
}

/** A pool that fails at once while the server cannot be reached, instead of letting each statement wait for it. */
class GuardedPool implements PostgresPool {
  readonly #pool: pg.Pool
  readonly #limitMs: number | null
  readonly #statements = new NamedStatements()
  readonly #writes: WriteState = { refused: false }
  /** One client per connection: Kysely keeps data about each new one until the old generation is collected. */
  readonly #clients = new WeakMap<pg.PoolClient, PromptClient>()
  /** Error of the last try to connect, if no connection was open. Null after a success. */
  #failure: unknown = null
  /** Time at which the next try may begin (ms of `performance.now`); infinite while one runs. */
  #nextTryMs = 0

  constructor(config: pg.PoolConfig, log: Log) {
    const limitMs = config.statement_timeout
    this.#limitMs = limitMs === undefined || limitMs === false ? null : limitMs + ANSWER_MS
    this.#pool = new pg.Pool(config)
    // The pool replaces a failed idle connection. Without a listener the error would end the process.
    this.#pool.on('error', (error) => log.warn({ error: error.message }, 'database.connection_lost'))
  }

  /** False from a failed try to connect until one succeeds, and from a refused write until rows are written. */
  get available(): boolean {
    return this.#failure === null && !this.#writes.refused
  }

  async connect(): Promise<PromptClient> {
    const probing = this.#failure !== null
    if (probing) {
      if (performance.now() < this.#nextTryMs) throw connectionLost(this.#failure)
      this.#nextTryMs = Number.POSITIVE_INFINITY
    }
    let client: pg.PoolClient
    try {
      client = await this.#pool.connect()
    } catch (error) {
      // A full pool is no outage: its connections are open.
      if (probing || this.#pool.totalCount === 0) {
        this.#failure = error
        this.#nextTryMs = performance.now() + RETRY_MS
      }
      throw connectionLost(error)
    }
    this.#failure = null
    const known = this.#clients.get(client) ?? this.#newClient(client)
    this.#clients.set(client, known)
    return known
  }

  #newClient(client: pg.PoolClient): PromptClient {
    return new PromptClient(client, this.#statements, this.#limitMs, this.#writes)
  }

  async end(): Promise<void> {
    if (!this.#pool.ended) await this.#pool.end()
  }
}

/** Opens the PostgreSQL database at `url`. It connects with the first statement. */
export function openPostgres(
  url: string,
  log: Log,
  logger: Logger,
  { connections, statementMs }: DatabaseLimits,
): OpenDatabase {
  const types = new pg.TypeOverrides()
  types.setTypeParser(INT8, safeInteger)
  types.setTypeParser(NUMERIC, safeInteger)
  const common = {
    connectionString: url,
    types,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
  }
  const pool = new GuardedPool(
    {
      ...common,
      connectionTimeoutMillis: CONNECT_MS,
      max: connections,
      ...(statementMs === null ? {} : { statement_timeout: statementMs }),
    },
    log,
  )
  const readPool = new GuardedPool(
    {
      ...common,
      // A search may wait for other searches.
      connectionTimeoutMillis: READS_WAIT_MS,
      max: READS_MAX,
      statement_timeout: READS_LIMIT_MS,
    },
    log,
  )
  const open = (pool: PostgresPool): Db =>
    new Kysely<Database>({ dialect: new RollbackDialect({ pool }), log: logger })
  const db = open(pool)
  const reads = open(readPool)
  let closing: Promise<void> | undefined
  return {
    db,
    reads,
    dialect: 'postgres',
    get available() {
      return pool.available
    },
    close() {
      // Kysely does not end a pool that was never used.
      const end = (db: Db, pool: GuardedPool) => db.destroy().finally(() => pool.end())
      closing ??= Promise.all([end(reads, readPool), end(db, pool)]).then(() => {})
      return closing
    },
  }
}
