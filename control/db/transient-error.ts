import { isOutdatedPlan } from './named-statements.js'

/**
 * PostgreSQL error codes for serialization failures, deadlocks, connections, resources, statements over their
 * time limit, and shutdown (PostgreSQL documentation, appendix A).
 */
const POSTGRES = /^(40001|40P01|08...|53...|57014|57P0[1-3]|55P03)$/
const NODE = new Set(['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'ENOTFOUND', 'EHOSTUNREACH'])
/** Errors of node-postgres without a code: the connection was lost or not established in time. */
const POOL = /connection terminated|timeout exceeded when trying to connect|connection timeout/i

/**
 * Returns true if the same transaction may succeed later because the database was busy or unavailable.
 * Returns false for all unknown errors.
 */
export function isTransient(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const code = 'code' in error && typeof error.code === 'string' ? error.code : ''
  if (code.startsWith('SQLITE_BUSY') || code.startsWith('SQLITE_LOCKED') || code === 'SQLITE_FULL')
    return true
  return isOutdatedPlan(error) || POSTGRES.test(code) || NODE.has(code) || POOL.test(error.message)
}
