import { Worker } from 'node:worker_threads'
import {
  type CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  Kysely,
  type Logger,
  type QueryResult,
  SqliteAdapter,
  SqliteIntrospector,
} from 'kysely'
import { EngineError } from '../../media/base/errors.js'
import { LiteralLimits } from './literal-limits.js'
import type { ReaderAnswer, ReaderStatement } from './reader-messages.js'
import type { Database } from './tables/schema.js'
import { unavailable } from './transient-error.js'

const THREAD = new URL('./reader-thread.js', import.meta.url)

/** Most statements that wait. Later ones are refused. */
const MAX_WAITING = 100
/**
 * Young generation of the thread (MB). Rows are garbage as soon as they are sent; V8 would let the garbage of an export
 * grow to 48 MB.
 */
const YOUNG_MB = 6
/** Longest wait for the turn of a statement (ms). */
const MAX_WAIT_MS = 30_000

interface Waiting {
  readonly statement: ReaderStatement
  readonly sinceMs: number
  resolve(rows: unknown[]): void
  reject(error: Error): void
}

/**
 * Opens a read-only connection to a SQLite file in a thread of its own, for statements that may read a whole
 * table. It sees every committed change. The thread starts with the first statement. Statements fail with
 * EngineError `overloaded` when too many wait.
 */
export function openSqliteReader(file: string, log: Logger): Kysely<Database> {
  const dialect: Dialect = {
    createDriver: () => new ReaderDriver(file),
    createQueryCompiler: () => new LiteralLimits(),
    createAdapter: () => new SqliteAdapter(),
    createIntrospector: (db) => new SqliteIntrospector(db),
  }
  return new Kysely<Database>({ dialect, log })
}

class ReaderDriver implements Driver {
  readonly #reader: Reader
  readonly #connection: DatabaseConnection

  constructor(file: string) {
    const reader = new Reader(file)
    this.#reader = reader
    this.#connection = {
      async executeQuery<R>({ sql, parameters }: CompiledQuery): Promise<QueryResult<R>> {
        return { rows: (await reader.read({ sql, parameters })) as R[] }
      },
      streamQuery: () => {
        throw new EngineError('internal', 'the reader does not stream')
      },
    }
  }

  async init(): Promise<void> {}

  /** All statements share the connection; the reader queues them. */
  async acquireConnection(): Promise<DatabaseConnection> {
    return this.#connection
  }

  async releaseConnection(): Promise<void> {}

  async beginTransaction(): Promise<void> {
    throw new EngineError('internal', 'the reader has no transactions')
  }

  async commitTransaction(): Promise<void> {}

  async rollbackTransaction(): Promise<void> {}

  destroy(): Promise<void> {
    return this.#reader.close()
  }
}

/** The thread and the statements that wait for it. */
class Reader {
  readonly #file: string
  #waiting: Waiting[] = []
  #running: Waiting | null = null
  #thread: Worker | null = null
  #closed = false

  constructor(file: string) {
    this.#file = file
  }

  read(statement: ReaderStatement): Promise<unknown[]> {
    if (this.#closed) return Promise.reject(new EngineError('closed', 'the database is closed'))
    if (this.#waiting.length >= MAX_WAITING) return Promise.reject(overloaded())
    return new Promise((resolve, reject) => {
      this.#waiting.push({ statement, sinceMs: performance.now(), resolve, reject })
      this.#next()
    })
  }

  async close(): Promise<void> {
    this.#closed = true
    const thread = this.#thread
    this.#fail(new EngineError('closed', 'the database is closed'))
    for (const { reject } of this.#waiting.splice(0))
      reject(new EngineError('closed', 'the database is closed'))
    await thread?.terminate()
  }

  #next(): void {
    while (this.#running === null) {
      const next = this.#waiting.shift()
      if (next === undefined) return
      if (performance.now() - next.sinceMs > MAX_WAIT_MS) {
        next.reject(overloaded())
        continue
      }
      this.#running = next
      this.#thread ??= this.#start()
      this.#thread.postMessage(next.statement)
    }
  }

  #start(): Worker {
    const thread = new Worker(THREAD, {
      workerData: { file: this.#file },
      execArgv: ['--enable-source-maps'],
      name: 'database-reader',
      resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MB },
    })
    thread.on('message', (answer: ReaderAnswer) => {
      const running = this.#running
      this.#running = null
      if ('rows' in answer) running?.resolve(answer.rows)
      else if (answer.transient)
        running?.reject(unavailable('the database is busy or unavailable', answer.error))
      else running?.reject(new EngineError('storage_failed', answer.error))
      this.#next()
    })
    let why: Error = new EngineError('storage_failed', 'the reading thread ended')
    thread.on('error', (error) => {
      why = error
    })
    thread.on('exit', () => {
      if (this.#thread !== thread) return
      this.#fail(why)
      this.#next()
    })
    return thread
  }

  /** Forgets the thread and fails its statement. */
  #fail(error: Error): void {
    const running = this.#running
    this.#thread = null
    this.#running = null
    running?.reject(error)
  }
}

function overloaded(): EngineError {
  return new EngineError('overloaded', 'too many searches wait', { retryable: true })
}
