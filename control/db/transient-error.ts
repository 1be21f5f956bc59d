/** PostgreSQL: serialization and deadlock, connections, resources, shutdown (Appendix A classes). */
const POSTGRES = /^(40001|40P01|08...|53...|57P0[1-3]|55P03)$/
const NODE = new Set(['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'ENOTFOUND', 'EHOSTUNREACH'])
/** What node-postgres throws without a code when a connection is lost or cannot be had in time. */
const POOL = /connection terminated|timeout exceeded when trying to connect|connection timeout/i

/**
 * Whether the same transaction may succeed later: the database was busy, away or undecided, and
 * nothing is wrong with what it was asked. Anything unknown is not.
 */
export function isTransient(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const code = 'code' in error && typeof error.code === 'string' ? error.code : ''
  if (code.startsWith('SQLITE_BUSY') || code.startsWith('SQLITE_LOCKED') || code === 'SQLITE_FULL')
    return true
  return POSTGRES.test(code) || NODE.has(code) || POOL.test(error.message)
}
