import Sqlite from 'better-sqlite3'
import t from 'tap'
import { keepStatements } from './statement-cache.js'

t.test('a statement is prepared once, and again while it is being read', async (t) => {
  const database = new Sqlite(':memory:')
  t.teardown(() => database.close())
  database.exec('create table "people" ("name" text)')
  const kept = keepStatements(database)
  kept.prepare('insert into "people" values (?), (?)').run(['Asha', 'Ravi'])
  const text = 'select * from "people" order by "name"'
  const statement = kept.prepare(text)
  t.equal(kept.prepare(text), statement)
  const reading = statement.iterate([])
  t.same(reading.next().value, { name: 'Asha' })
  t.same(kept.prepare(text).all([]), [{ name: 'Asha' }, { name: 'Ravi' }])
  t.same(reading.next().value, { name: 'Ravi' })
  reading.return?.(undefined)
  database.exec('alter table "people" add column "city" text default \'Pune\'')
  t.same(kept.prepare(text).all([])[0], { name: 'Asha', city: 'Pune' }, 'a new column is seen')
})

t.test('few statements are kept, and none of many rows', async (t) => {
  const database = new Sqlite(':memory:')
  t.teardown(() => database.close())
  let prepared = 0
  const prepare = database.prepare.bind(database)
  database.prepare = ((text: string) => {
    prepared++
    return prepare(text)
  }) as typeof database.prepare
  const kept = keepStatements(database)
  for (let i = 0; i < 1_001; i++) kept.prepare(`select ${i}`)
  kept.prepare('select 1000')
  t.equal(prepared, 1_001)
  kept.prepare('select 0')
  t.equal(prepared, 1_002, 'the first one was dropped')
  const long = `select '${'a'.repeat(8_000)}'`
  kept.prepare(long)
  kept.prepare(long)
  t.equal(prepared, 1_004)
})
