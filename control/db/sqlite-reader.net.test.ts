import { join } from 'node:path'
import { sql } from 'kysely'
import t, { type Test } from 'tap'
import { silentLog } from '../../media/base/log.js'
import { type OpenDatabase, openDatabase } from './database.js'
import { migrate } from './migrate.js'

async function open(t: Test): Promise<OpenDatabase> {
  const database = openDatabase(`sqlite:${join(t.testdir({}), 'a.db')}`, silentLog)
  t.teardown(() => database.close())
  await migrate(database)
  return database
}

/** A statement that takes long. */
const slow = sql<{ n: number }>`with recursive numbers(i) as
  (select 1 union all select i + 1 from numbers where i < 2000000) select count(*) as n from numbers`

t.test('reads see committed rows, do not write, and survive errors', async (t) => {
  const { db, reads } = await open(t)
  const names = async () =>
    (await reads.selectFrom('organizations').select('name').where('createdAt', '<', 9).execute()).map(
      ({ name }) => name,
    )
  t.same(await names(), [])
  const row = { id: 'org_1', name: 'नमस्ते', senderClassification: null, createdAt: 1 }
  await db.transaction().execute(async (trx) => {
    await trx.insertInto('organizations').values(row).execute()
    t.same(await names(), [], 'not committed')
  })
  t.same(await names(), ['नमस्ते'])
  await t.rejects(reads.deleteFrom('organizations').execute(), {
    code: 'storage_failed',
    message: /does not return data/,
  })
  await t.rejects(sql`select nothing`.execute(reads), { code: 'storage_failed' })
  await t.rejects(
    reads.transaction().execute(async () => {}),
    { code: 'internal' },
  )
  t.same(await names(), ['नमस्ते'])
})

t.test('a long statement blocks neither this thread nor other statements', async (t) => {
  const { db, reads } = await open(t)
  let turns = 0
  let over = false
  const reading = slow.execute(reads).finally(() => {
    over = true
  })
  while (!over) {
    await new Promise((resolve) => setImmediate(resolve))
    await db.selectFrom('organizations').selectAll().execute()
    turns++
  }
  t.match(await reading, { rows: [{ n: 2_000_000 }] })
  t.ok(turns > 10, `${turns} turns`)
})

t.test('too many waiting statements are refused; closing ends the others', async (t) => {
  const database = await open(t)
  const read = () =>
    slow.execute(database.reads).then(
      () => 'read',
      (error) => error.code,
    )
  const first = read()
  const others = Array.from({ length: 120 }, read)
  t.equal(await first, 'read')
  const refused = others.slice(100)
  t.ok((await Promise.all(refused)).every((outcome) => outcome === 'overloaded'))
  await database.close()
  const outcomes = new Set(await Promise.all(others.slice(0, 100)))
  t.ok(outcomes.has('closed'))
  t.notOk(outcomes.has('overloaded'))
})
