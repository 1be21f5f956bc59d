import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { EngineError } from '../../media/base/errors.js'
import { silentLog } from '../../media/base/log.js'
import { openDatabase } from '../db/database.js'

/*
 * Uses PostgreSQL's own tools, which know every type, index and trigger of every version. `pg_dump` and
 * `pg_restore` must be at least as new as the server.
 */

const ERROR_CHARACTERS = 2000
/** A schema change in progress may hold locks. The backup then fails instead of waiting forever. */
const LOCK_WAIT = '30s'

export async function dumpPostgres(databaseUrl: string, file: string): Promise<void> {
  await run('pg_dump', databaseUrl, [
    '--format=custom',
    '--no-owner',
    '--no-privileges',
    `--lock-wait-timeout=${LOCK_WAIT}`,
    `--file=${file}`,
  ])
}

/**
 * Restores into an empty database in one transaction. Throws EngineError `config_invalid` when the database
 * is not empty.
 */
export async function restorePostgres(databaseUrl: string, file: string): Promise<void> {
  const database = openDatabase(databaseUrl, silentLog)
  try {
    const tables = await database.db.introspection.getTables()
    if (tables.length > 0) {
      throw new EngineError('config_invalid', 'the database is not empty; restore into a new one')
    }
  } finally {
    await database.close()
  }
  await run('pg_restore', databaseUrl, [
    '--no-owner',
    '--no-privileges',
    '--exit-on-error',
    '--single-transaction',
    file,
  ])
}

async function run(tool: 'pg_dump' | 'pg_restore', databaseUrl: string, args: string[]): Promise<void> {
  const url = new URL(databaseUrl)
  const password = decodeURIComponent(url.password)
  // Other users of the machine can read a process's arguments but not its environment.
  url.password = ''
  const child = spawn(tool, [`--dbname=${url.href}`, ...args], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...process.env, ...(password === '' ? {} : { PGPASSWORD: password }) },
  })
  let complaint = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaint = (complaint + text).slice(-ERROR_CHARACTERS)
  })
  const [status] = await once(child, 'close').catch((error: unknown) => {
    throw new EngineError('config_invalid', `${tool} cannot be run: install PostgreSQL's client programs`, {
      cause: error,
    })
  })
  if (status !== 0) {
    throw new EngineError('storage_failed', `${tool} failed (${status}): ${complaint.trim()}`)
  }
}
