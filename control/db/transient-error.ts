import Sqlite from 'better-sqlite3'
import { EngineError, errorText } from '../../media/base/errors.js'
import { isOutdatedPlan } from './named-statements.js'

/**
 * PostgreSQL error codes for serialization failures, deadlocks, connections, resources, statements over their
 * time limit, shutdown, input and output, and a server that became a standby (PostgreSQL documentation, appendix A).
 */
const POSTGRES = /^(40001|40P01|08...|53...|57014|57P0[1-5]|55P03|58030|25006|25P03)$/
/** An error after which the server closes the connection. */
const ENDS_CONNECTION = new Set(['FATAL', 'PANIC'])
/** Primary result codes of SQLite for a busy, full, failing or unreachable file (sqlite.org/rescode.html). */
const SQLITE = /^SQLITE_(BUSY|LOCKED|FULL|IOERR|READONLY|CANTOPEN|NOMEM|PROTOCOL|INTERRUPT)(_|$)/

/**
 * Returns true if the same transaction may succeed later because the database was busy or unavailable.
 * Returns false for all unknown errors.
 */
export function isTransient(error: unknown): boolean {
  return error instanceof EngineError && error.code === 'database_unavailable'
}

/** Returns the error for a database that cannot be used at the moment. */
export function unavailable(why: string, cause: unknown): EngineError {
  const text = `${why}: ${errorText(cause)}`
  return new EngineError('database_unavailable', text, { retryable: true, cause })
}

/**
 * Returns EngineError `database_unavailable` for a driver error after which a retry may succeed, and any other error
 * unchanged.
 */
export function ofDriver(error: unknown): unknown {
  return mayPass(error) ? unavailable('the database is busy or unavailable', error) : error
}

function mayPass(error: unknown): boolean {
  if (error instanceof Sqlite.SqliteError) return SQLITE.test(error.code)
  if (!(error instanceof Error)) return false
  const code = 'code' in error && typeof error.code === 'string' ? error.code : ''
  const severity = 'severity' in error && typeof error.severity === 'string' ? error.severity : ''
  return isOutdatedPlan(error) || POSTGRES.test(code) || ENDS_CONNECTION.has(severity)
}
