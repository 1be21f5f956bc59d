import type { PostgresCursor, PostgresPoolClient, PostgresQueryResult } from 'kysely'
import type pg from 'pg'
import { EngineError } from '../../media/base/errors.js'
import { isOutdatedPlan, type NamedStatements } from './named-statements.js'
import { ofDriver, unavailable } from './transient-error.js'

/** Error code of a write on a standby: after a failover the connection leads to the wrong server. */
const READ_ONLY = '25006'
/** Error codes of a server that reads and cannot write: a standby, a full disk, errors of input and output. */
const REFUSES_WRITES: readonly string[] = [READ_ONLY, '53100', '58030']
const WRITES: readonly string[] = ['INSERT', 'UPDATE', 'DELETE']

/** Shared by the clients of a pool: whether the server takes writes. */
export interface WriteState {
  /** True from a refused write until rows are written. */
  refused: boolean
}

/**
 * Client of PostgreSQL whose results become garbage with their query. In pg each promise of `query` hangs on a function
 * that V8 allocates in the old generation (a function literal that is assigned to a property). The collector of the
 * young generation then keeps the rows of every query until the old one is collected: 100 MB for 100,000 calls.
 *
 * A statement fails with EngineError `database_unavailable` when it may succeed later. That is so when the connection broke,
 * whatever text the driver gives the error, and when the server has not answered within the limit. Such a connection never
 * returns to the pool.
 */
export class PromptClient implements PostgresPoolClient {
  readonly #client: pg.PoolClient
  readonly #statements: NamedStatements
  /** Longest wait for the answer to a statement (ms); null waits without a limit. */
  readonly #limitMs: number | null
  readonly #writes: WriteState
  #transacting = false
  /** True if rows were written and not committed. */
  #wrote = false
  /** Why the connection cannot be used any longer. */
  #broken: Error | null = null

  constructor(
    client: pg.PoolClient,
    statements: NamedStatements,
    limitMs: number | null,
    writes: WriteState,
  ) {
    this.#client = client
    this.#writes = writes
    this.#statements = statements
    this.#limitMs = limitMs
    // For the whole life of the connection: the pool listens to idle clients only, and an error without a listener ends
    // the process. The driver emits the error before it fails the statements of the connection.
    client.on('error', (error) => {
      this.#broken ??= error
    })
  }

  query<R>(text: string, values: readonly unknown[]): Promise<PostgresQueryResult<R>>
  query<R>(cursor: PostgresCursor<R>): PostgresCursor<R>
  query<R>(
    text: string | PostgresCursor<R>,
    values: readonly unknown[] = [],
  ): Promise<PostgresQueryResult<R>> | PostgresCursor<R> {
    if (typeof text !== 'string') throw new EngineError('internal', 'the database has no cursors')
    return new Promise<PostgresQueryResult<R>>((resolve, reject) => {
      if (this.#broken !== null) {
        reject(connectionLost(this.#broken))
        return
      }
      const limit =
        this.#limitMs === null
          ? null
          : setTimeout(() => {
              this.#broken ??= new Error(`no answer within ${this.#limitMs} ms`)
              reject(connectionLost(this.#broken))
            }, this.#limitMs)
      const send = (name: string | undefined, failed: (error: Error) => void): void => {
        const query = { text, values: values.map(storable), ...(name === undefined ? {} : { name }) }
        this.#client.query(query, (error: Error | null, result: unknown) => {
          if (error === null || error === undefined) {
            if (limit !== null) clearTimeout(limit)
            const answer = result as PostgresQueryResult<R>
            this.#noteSuccess(String(answer.command), Number(answer.rowCount ?? 0))
            // The server answers the COMMIT of a transaction that has failed with ROLLBACK, and without an error.
            if (text === 'commit' && String(answer.command) === 'ROLLBACK')
              reject(new EngineError('internal', 'an earlier error ended the transaction'))
            else resolve(answer)
          } else failed(error)
        })
      }
      const fail = (error: Error): void => {
        if (limit !== null) clearTimeout(limit)
        reject(this.#broken === null ? ofDriver(error) : connectionLost(error))
        const code = 'code' in error && typeof error.code === 'string' ? error.code : ''
        if (code === READ_ONLY) this.#broken ??= error
        if (REFUSES_WRITES.includes(code)) this.#writes.refused = true
      }
      // Without values the text is sent as it is, as `begin` is.
      const name = values.length === 0 ? undefined : this.#statements.nameOf(text)
      send(name, (error) => {
        if (name === undefined || !isOutdatedPlan(error)) {
          fail(error)
          return
        }
        this.#statements.unname(text)
        // Within a transaction, which has failed, this fails too. The transaction is repeated as after a deadlock.
        send(undefined, () => fail(error))
      })
    })
  }

  /** Notes that the server writes. Reading proves nothing, nor does a write before its commit. */
  #noteSuccess(command: string, rows: number): void {
    if (command === 'BEGIN') this.#transacting = true
    if (command === 'COMMIT' || command === 'ROLLBACK') this.#transacting = false
    if (command === 'BEGIN' || command === 'ROLLBACK') this.#wrote = false
    if (WRITES.includes(command) && rows > 0) this.#wrote = true
    if (this.#transacting || !this.#wrote) return
    this.#wrote = false
    this.#writes.refused = false
  }

  release(): void {
    // The pool closes a connection that is released with an error. One whose statement is unanswered is cut.
    this.#client.release(this.#broken ?? undefined)
  }
}

/**
 * PostgreSQL refuses U+0000 in texts (error 22021). Words, names and reasons from outside may contain it, and the end of a
 * call must be stored whatever they say: it becomes U+FFFD.
 */
function storable(value: unknown): unknown {
  return typeof value === 'string' && value.includes('\0') ? value.replaceAll('\0', '\uFFFD') : value
}

/** Returns the error of a statement whose connection to the database is lost or could not be made. */
export function connectionLost(cause: unknown): EngineError {
  return unavailable('no connection to the database', cause)
}
