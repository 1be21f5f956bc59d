import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import Sqlite from 'better-sqlite3'
import { type Kysely, sql } from 'kysely'
import t from 'tap'
import { onEachDialect } from '../../fixtures/database/databases.js'
import { overUnixSocket, startPostgres } from '../../fixtures/database/postgres.js'
import { silentLog } from '../../media/base/log.js'
import { openDatabase } from './database.js'
import { migrate } from './migrate.js'
import { isTransient } from './transient-error.js'

t.test('a URL of another kind is rejected', async (t) => {
  for (const url of ['mysql://x', '', '/tmp/x.db']) {
    t.throws(() => openDatabase(url, silentLog), { code: 'config_invalid' })
  }
})

t.test('a PostgreSQL URL may name the folder of a Unix-domain socket', async (t) => {
  const postgres = await startPostgres()
  t.teardown(() => postgres.stop())
  const url = await overUnixSocket(await postgres.createDatabase())
  t.match(url, /^postgres:\/\/postgres@%2F/)
  const database = openDatabase(url, silentLog)
  t.teardown(() => database.close())
  const { rows } = await sql<{ address: string | null }>`select inet_client_addr() as address`.execute(
    database.db,
  )
  t.same(rows, [{ address: null }], 'the connection has no network address')
})

t.test('integers are read as exact numbers or rejected', async (t) => {
  await onEachDialect(t, async (t, open, engine) => {
    const { db } = await open()
    const at = Number.MAX_SAFE_INTEGER
    await db
      .insertInto('organizations')
      .values({ id: 'org_1', name: 'नमस्ते', senderClassification: null, createdAt: at })
      .execute()
    t.same(await db.selectFrom('organizations').selectAll().execute(), [
      { id: 'org_1', name: 'नमस्ते', senderClassification: null, createdAt: at },
    ])
    const sum = await db
      .selectFrom('organizations')
      .select((eb) => [eb.fn.sum<number>('createdAt').as('sum'), eb.fn.countAll<number>().as('n')])
      .executeTakeFirstOrThrow()
    t.same(sum, { sum: at, n: 1 })
    if (engine === 'postgres') {
      await t.rejects(sql`select 9007199254740993::bigint as n`.execute(db), { code: 'internal' })
    }
  })
})

t.test('a failed transaction leaves no change, schema changes included', async (t) => {
  await onEachDialect(t, async (t, open) => {
    const { db } = await open()
    const failing = db.transaction().execute(async (trx) => {
      await trx.schema.createTable('halfway').addColumn('id', 'text').execute()
      await trx
        .insertInto('organizations')
        .values({ id: 'org_1', name: 'x', senderClassification: null, createdAt: 1 })
        .execute()
      throw new Error('stop')
    })
    await t.rejects(failing, { message: 'stop' })
    t.same(await db.selectFrom('organizations').selectAll().execute(), [])
    const tables = await db.introspection.getTables()
    t.notOk(tables.some(({ name }) => name === 'halfway'))
  })
})

t.test('a newer version adds a column while this one runs', async (t) => {
  await onEachDialect(t, async (t, open) => {
    const { db } = await open()
    const values = { id: 'org_1', name: 'x', senderClassification: null, createdAt: 1 }
    await db.insertInto('organizations').values(values).execute()
    const read = (from: typeof db) =>
      from.selectFrom('organizations').selectAll().where('id', '=', 'org_1').execute()
    // Often enough for a plan that the server keeps, on one connection and in a transaction.
    for (let i = 0; i < 10; i++) t.same(await read(db), [values])
    await db.schema.alterTable('organizations').addColumn('later', 'text').execute()
    t.same(await read(db), [{ ...values, later: null }])
    t.same(await db.transaction().execute((trx) => read(trx)), [{ ...values, later: null }])
  })
})

t.test('a transaction that meets a changed table may be repeated', async (t) => {
  const postgres = await startPostgres()
  t.teardown(() => postgres.stop())
  const database = openDatabase(await postgres.createDatabase(), silentLog)
  t.teardown(() => database.close())
  const { db } = database
  await migrate(database)
  const read = (from: typeof db) =>
    from.selectFrom('organizations').selectAll().where('id', '=', 'x').execute()
  for (let i = 0; i < 10; i++) await read(db)
  await db.schema.alterTable('organizations').addColumn('later', 'text').execute()
  const failed = await db
    .transaction()
    .execute((trx) => read(trx))
    .catch((error: unknown) => error)
  t.ok(isTransient(failed), String(failed))
  t.same(await db.transaction().execute((trx) => read(trx)), [])
})

/** `fixtures/database/counter-process.ts` in a process of its own. */
async function count(url: string, rounds: number): Promise<void> {
  const program = join(import.meta.dirname, '..', '..', 'fixtures', 'database', 'counter-process.js')
  await promisify(execFile)(process.execPath, [program, url, String(rounds)])
}

t.test('two processes on one empty database migrate it once and lose no update', async (t) => {
  const postgres = await startPostgres()
  t.teardown(() => postgres.stop())
  const urls = [`sqlite:${join(t.testdir({}), 'folder', 'made.db')}`, await postgres.createDatabase()]
  for (const url of urls) {
    await Promise.all([count(url, 100), count(url, 100)])
    const database = openDatabase(url, silentLog)
    const row = await database.db.selectFrom('organizations').select('createdAt').executeTakeFirst()
    t.equal(row?.createdAt, 200, database.dialect)
    await database.close()
  }
})

t.test('SQLite keeps committed work after a power failure and checks references', async (t) => {
  const { db, close } = openDatabase(`sqlite:${join(t.testdir({}), 'a.db')}`, silentLog)
  const pragma = async (name: string): Promise<unknown> => {
    const { rows } = await sql<Record<string, unknown>>`select * from ${sql.raw(`pragma_${name}`)}`.execute(
      db,
    )
    return Object.values(rows[0] ?? {})[0]
  }
  t.equal(await pragma('journal_mode'), 'wal')
  t.equal(await pragma('synchronous'), 2, 'FULL')
  t.equal(await pragma('foreign_keys'), 1)
  await close()
  await close()
})

t.test('no other user can read a SQLite database', async (t) => {
  for (const made of [true, false]) {
    const file = join(t.testdir({}), 'folder', 'a.db')
    if (made) {
      mkdirSync(dirname(file))
      writeFileSync(file, '', { mode: 0o644 })
    }
    const database = openDatabase(`sqlite:${file}`, silentLog)
    await migrate(database)
    for (const path of [file, `${file}-wal`, `${file}-shm`]) {
      t.ok(existsSync(path))
      t.equal(statSync(path).mode & 0o777, 0o600, path)
    }
    if (!made) t.equal(statSync(dirname(file)).mode & 0o777, 0o700)
    await database.close()
  }
})

t.test('a SQLite database that another process locks does not block the thread', async (t) => {
  const file = join(t.testdir({}), 'a.db')
  const database = openDatabase(`sqlite:${file}`, silentLog)
  t.teardown(() => database.close())
  await migrate(database)
  const other = new Sqlite(file)
  t.teardown(() => other.close())
  const row = { name: 'x', senderClassification: null, createdAt: 1 }
  other.exec('begin immediate')
  const insert = (id: string) => database.db.insertInto('organizations').values({ id, ...row })
  let stored = 0
  const statements = [
    insert('org_1').execute(),
    database.db.transaction().execute((trx) =>
      trx
        .insertInto('organizations')
        .values({ id: 'org_2', ...row })
        .execute(),
    ),
  ].map((statement) => statement.then(() => stored++))
  for (let turn = 0; turn < 100; turn++) await new Promise((resolve) => setImmediate(resolve))
  t.equal(stored, 0)
  other.exec('commit')
  await Promise.all(statements)
  t.equal(stored, 2)
})

t.test('a schema that cannot be created is one error', async (t) => {
  const database = openDatabase('sqlite::memory:', silentLog)
  await (database.db as unknown as Kysely<unknown>).schema
    .createTable('users')
    .addColumn('id', 'text')
    .execute()
  await t.rejects(migrate(database), { code: 'storage_failed' })
  t.notOk((await database.db.introspection.getTables()).some(({ name }) => name === 'organizations'))
  await database.close()
})
