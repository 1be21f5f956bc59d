import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { type Kysely, sql } from 'kysely'
import t, { type Test } from 'tap'
import { startPostgres } from '../../fixtures/database/postgres.js'
import { type Fault, matching, nth, openPostgresProxy } from '../../fixtures/database/postgres-proxy.js'
import { openSmallDisk } from '../../fixtures/database/sqlite-faults.js'
import { silentLog } from '../../media/base/log.js'
import { type OpenDatabase, openDatabase } from './database.js'
import { migrate } from './migrate.js'

/*
 * Migrations that break off at a statement have happened as a whole or not at all, and one more attempt completes them.
 * PARLEY_EVERY_STATEMENT=1 breaks them off at each statement.
 */

const STRIDE = process.env.PARLEY_EVERY_STATEMENT === '1' ? 1 : 61
const FAULTS: readonly Omit<Fault, 'at'>[] = [
  { kind: 'reset', when: 'before' },
  { kind: 'terminate', when: 'before' },
  { kind: 'close', when: 'after' },
  { kind: 'outage', when: 'before' },
  { kind: 'reset', when: 'after' },
]

/** The work of migrations: their number, and all tables, columns and indexes. */
interface Made {
  readonly migrations: number
  readonly schema: readonly string[]
}

async function madeIn({ db, dialect }: OpenDatabase): Promise<Made> {
  const untyped = db as unknown as Kysely<unknown>
  const parts =
    dialect === 'sqlite'
      ? sql<{
          part: string
        }>`select type || ' ' || name || ' ' || coalesce(sql, '') as part from sqlite_master`
      : sql<{ part: string }>`
          select table_name || ' ' || column_name || ' ' || data_type as part
            from information_schema.columns where table_schema = current_schema()
          union all select indexdef from pg_indexes where schemaname = current_schema()`
  const { rows } = await parts.execute(untyped)
  const schema = rows.map(({ part }) => part).toSorted()
  if (!schema.some((part) => part.includes('kysely_migration '))) return { migrations: 0, schema }
  const counted = await sql<{ n: number }>`select count(*) as n from kysely_migration`.execute(untyped)
  return { migrations: Number(counted.rows[0]?.n), schema }
}

/** Proves that all or nothing has happened, and that the next attempt completes it. */
async function proveWhole(t: Test, database: OpenDatabase, wanted: Made, label: string): Promise<void> {
  const { migrations } = await madeIn(database)
  t.ok(migrations === 0 || migrations === wanted.migrations, `${label}: ${migrations} migrations`)
  await migrate(database)
  t.same(await madeIn(database), wanted, label)
}

t.test('PostgreSQL', async (t) => {
  const postgres = await startPostgres()
  const whole = openDatabase(await postgres.createDatabase({ migrated: true }), silentLog)
  const wanted = await madeIn(whole)
  await whole.close()
  t.ok(wanted.migrations > 50)

  /** Returns false if the migrations have fewer statements. */
  const breakOff = async (fault: Fault): Promise<boolean> => {
    const url = await postgres.createDatabase()
    const proxy = await openPostgresProxy(url)
    const database = openDatabase(proxy.url, silentLog)
    proxy.arm(fault)
    const failed = await migrate(database).then(
      () => false,
      () => true,
    )
    const { fired } = proxy
    t.equal(failed, fired !== null)
    await database.close()
    await proxy.close()
    const direct = openDatabase(url, silentLog)
    await proveWhole(t, direct, wanted, `${fault.kind} ${fault.when} ${fired?.slice(0, 80) ?? 'nothing'}`)
    await direct.close()
    return fired !== null
  }
  for (const fault of FAULTS) t.equal(await breakOff({ ...fault, at: matching(/^commit$/) }), true)
  let tries = 0
  const next = () => {
    const fault = FAULTS[tries % FAULTS.length] ?? FAULTS[0]
    return { kind: 'reset', when: 'before', ...fault, at: nth(STRIDE * tries) } as const
  }
  while (await breakOff(next())) tries++
  t.ok(tries > 5, `${tries} statements`)
  await postgres.stop()
})

const disk = openSmallDisk(24 * 2 ** 20)
t.test('SQLite', { skip: disk === null && 'mounting is not allowed here' }, async (t) => {
  if (disk === null) return
  const file = join(disk.folder, 'parley.db')
  const remove = () => {
    for (const suffix of ['', '-wal', '-shm']) rmSync(`${file}${suffix}`, { force: true })
  }
  const whole = openDatabase(`sqlite:${file}`, silentLog)
  await migrate(whole)
  const wanted = await madeIn(whole)
  await whole.close()
  let failures = 0
  let isReached = true
  for (let n = 1; isReached; n += STRIDE) {
    remove()
    let left = n
    isReached = false
    const database = openDatabase(`sqlite:${file}`, silentLog, () => {
      if (--left !== 0) return
      isReached = true
      disk.fill()
    })
    await migrate(database).catch(() => failures++)
    disk.free()
    await proveWhole(t, database, wanted, `full at statement ${n}`)
    await database.close()
  }
  t.ok(failures > 5, `${failures} attempts failed`)
  disk.close()
})
