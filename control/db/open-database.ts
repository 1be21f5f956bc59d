import type { Kysely, Transaction } from 'kysely'
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
  /**
   * False while the database is known to be unusable. A statement makes it false if the disk is full, fails or cannot be
   * reached, or if the server is a standby. The next committed write makes it true. On PostgreSQL a failed connection
   * makes it false, too, until a connection succeeds.
   */
  readonly available: boolean
  close(): Promise<void>
}

/** Limits of the connections to PostgreSQL. SQLite has one connection, in this process. */
export interface DatabaseLimits {
  /** Maximum number of connections of `db`. `reads` has two of its own. */
  readonly connections: number
  /** Time limit of one statement of `db` (ms); null sets none, for migrations and restores. */
  readonly statementMs: number | null
}

/** For commands of the operator, whose statements may take as long as they need. */
export const UNLIMITED: DatabaseLimits = { connections: 10, statementMs: null }

export const DEFAULT_LIMITS: DatabaseLimits = { connections: 10, statementMs: 10_000 }
