import { connect as connectTo, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { sql } from 'kysely'
import t from 'tap'
import { startPostgres } from '../../fixtures/database/postgres.js'
import { until } from '../../fixtures/host/until.js'
import { silentLog } from '../../media/base/log.js'
import { DEFAULT_LIMITS, type OpenDatabase, openDatabase } from './database.js'
import { migrate } from './migrate.js'

/* Databases that break while they are in use: the process lives, and each error is one that may pass. */

const row = (id: string) => ({ id, name: 'x', senderClassification: null, createdAt: 1 })
const insert = (db: OpenDatabase['db'], id: string) =>
  db.insertInto('organizations').values(row(id)).execute()
const stored = async ({ db }: OpenDatabase) =>
  (await db.selectFrom('organizations').select('id').orderBy('id').execute()).map(({ id }) => id)
const UNAVAILABLE = { code: 'database_unavailable', retryable: true }

t.test('PostgreSQL ends connections at any moment of a transaction', async (t) => {
  const postgres = await startPostgres()
  t.teardown(() => postgres.stop())
  const url = await postgres.createDatabase()
  const database = openDatabase(url, silentLog)
  t.teardown(() => database.close())
  await migrate(database)
  const other = openDatabase(url, silentLog)
  t.teardown(() => other.close())
  const pidOf = async (db: OpenDatabase['db']): Promise<number> => {
    const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(db)
    return Number(rows[0]?.pid)
  }
  const end = (pid: number) => sql`select pg_terminate_backend(${pid})`.execute(other.db)

  await t.test('a transaction whose error was swallowed is not reported as committed', async (t) => {
    const failed = database.db.transaction().execute(async (trx) => {
      await insert(trx, 'a')
      await insert(trx, 'a').catch(() => {})
    })
    await t.rejects(failed, { code: 'internal' })
    t.same(await stored(database), [])
  })
  await t.test('between two statements', async (t) => {
    const failed = database.db.transaction().execute(async (trx) => {
      await insert(trx, 'a')
      await end(await pidOf(trx))
      await insert(trx, 'b')
    })
    await t.rejects(failed, UNAVAILABLE)
    t.same(await stored(database), [])
  })
  await t.test('during a statement', async (t) => {
    const failed = database.db.transaction().execute(async (trx) => {
      await insert(trx, 'a')
      const pid = await pidOf(trx)
      await Promise.all([sql`select pg_sleep(60)`.execute(trx), end(pid)])
    })
    await t.rejects(failed, UNAVAILABLE)
    t.same(await stored(database), [])
  })
  await t.test('before the commit', async (t) => {
    const failed = database.db.transaction().execute(async (trx) => {
      await insert(trx, 'a')
      await end(await pidOf(trx))
    })
    await t.rejects(failed, UNAVAILABLE)
    t.same(await stored(database), [])
  })
  await t.test('while it is idle, and all at once', async (t) => {
    await Promise.all(Array.from({ length: 10 }, () => sql`select pg_sleep(0.01)`.execute(database.db)))
    await sql`select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid()`.execute(other.db)
    // Until the pool has noticed all of them.
    await until(async () => {
      const all = Array.from({ length: 10 }, () => sql`select pg_sleep(0.01)`.execute(database.db))
      return (await Promise.allSettled(all)).every(({ status }) => status === 'fulfilled')
    })
    t.ok(database.available)
  })
  await t.test('its own error is reported, not that of the rollback', async (t) => {
    const failed = database.db.transaction().execute(async (trx) => {
      await end(await pidOf(trx))
      throw new Error('a reason of the caller')
    })
    await t.rejects(failed, { message: 'a reason of the caller' })
  })
})

/** A gate before a server, which can fall silent: it accepts connections, and passes nothing on. */
async function openGate(port: number, own = 0) {
  let silent = false
  const sockets = new Set<Socket>()
  const server = createServer((near) => {
    const far = connectTo({ host: '127.0.0.1', port })
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from)
      from.on('data', (bytes) => {
        if (!silent) to.write(bytes)
      })
      from.on('error', () => {})
      from.on('close', () => {
        sockets.delete(from)
        to.destroy()
      })
    }
  })
  await new Promise<void>((resolve) => server.listen(own, '127.0.0.1', resolve))
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  return {
    port: address.port,
    get connections() {
      return sockets.size / 2
    },
    fallSilent(on: boolean) {
      silent = on
    },
    close() {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
}

t.test('a server that falls silent', async (t) => {
  const postgres = await startPostgres()
  t.teardown(() => postgres.stop())
  const postgresUrl = await postgres.createDatabase()
  const url = new URL(postgresUrl)
  const gate = await openGate(Number(url.port))
  t.teardown(() => gate.close())
  url.port = String(gate.port)
  const database = openDatabase(url.href, silentLog, () => {}, { ...DEFAULT_LIMITS, statementMs: 100 })
  t.teardown(() => database.close())
  await sql`select 1`.execute(database.db)
  t.equal(gate.connections, 1)
  await t.rejects(sql`select pg_sleep(60)`.execute(database.db), UNAVAILABLE, 'a limit of the server')
  t.equal(gate.connections, 1, 'which keeps the connection')
  gate.fallSilent(true)
  const failed = database.db.transaction().execute((trx) => sql`select 1`.execute(trx))
  await t.rejects(failed, UNAVAILABLE)
  await until(() => gate.connections === 0)
  gate.fallSilent(false)
  t.match(await sql`select 1 as one`.execute(database.db), { rows: [{ one: 1 }] })

  // The port is closed: after the first failure statements do not wait for a connection, until one is made again.
  gate.close()
  await until(async () => {
    await t.rejects(sql`select 1`.execute(database.db), UNAVAILABLE)
    return !database.available
  })
  const again = await openGate(Number(new URL(postgresUrl).port), gate.port)
  t.teardown(() => again.close())
  await until(async () => (await sql`select 1`.execute(database.db).catch(() => null)) !== null)
  t.ok(database.available)
})

t.test('a server that refuses writes', async (t) => {
  const postgres = await startPostgres()
  t.teardown(() => postgres.stop())
  const database = openDatabase(await postgres.createDatabase(), silentLog)
  t.teardown(() => database.close())
  const { db } = database
  await migrate(database)
  const readOnly = (trx: OpenDatabase['db']) => sql`set transaction read only`.execute(trx)
  const refused = db.transaction().execute(async (trx) => {
    await readOnly(trx)
    await insert(trx, 'a')
  })
  await t.rejects(refused, { ...UNAVAILABLE, cause: { code: '25006' } })
  t.notOk(database.available)
  t.same(await stored(database), [], 'reading works')
  await db.deleteFrom('organizations').where('id', '=', 'none').execute()
  t.notOk(database.available, 'and proves nothing, nor does a change of no row')
  const undone = db.transaction().execute(async (trx) => {
    await insert(trx, 'b')
    throw new Error('undone')
  })
  await t.rejects(undone, { message: 'undone' })
  t.notOk(database.available, 'nor one that is rolled back')
  await db.transaction().execute((trx) => insert(trx, 'c'))
  t.ok(database.available)
})

t.test('a SQLite file without room', async (t) => {
  const database = openDatabase(`sqlite:${join(t.testdir({}), 'a.db')}`, silentLog)
  t.teardown(() => database.close())
  const { db } = database
  await migrate(database)
  const pragma = async (text: string): Promise<number> => {
    const { rows } = await sql<Record<string, number>>`${sql.raw(`pragma ${text}`)}`.execute(db)
    return Object.values(rows[0] ?? {})[0] ?? 0
  }
  const pages = await pragma('page_count')
  await pragma(`max_page_count = ${pages + 2}`)
  const large = (trx: OpenDatabase['db'], id: string) =>
    trx
      .insertInto('organizations')
      .values({ ...row(id), name: 'x'.repeat(100_000) })
      .execute()

  const full = db.transaction().execute(async (trx) => {
    await insert(trx, 'a')
    await large(trx, 'b')
  })
  await t.rejects(full, { ...UNAVAILABLE, cause: { code: 'SQLITE_FULL' } })
  t.notOk(database.available)
  t.same(await stored(database), [], 'reading works')
  t.notOk(database.available, 'and shows nothing of writing')

  // SQLite has ended the transaction by itself. What follows in it must not be committed one by one.
  const swallowed = db.transaction().execute(async (trx) => {
    await large(trx, 'c').catch(() => {})
    await insert(trx, 'd')
  })
  await t.rejects(swallowed, UNAVAILABLE)
  t.same(await stored(database), [])

  await pragma(`max_page_count = ${pages + 1_000}`)
  await db.transaction().execute((trx) => large(trx, 'e'))
  t.ok(database.available)
  t.same(await stored(database), ['e'])
})
