import t from 'tap'
import { onEachDialect } from '../../fixtures/database/databases.js'
import { builtOnce, insertedOnce } from './built-once.js'

interface Question {
  readonly name: string | null
  readonly ids: readonly string[]
}

await onEachDialect(t, async (t, open) => {
  await t.test(
    'a statement is built once for each length of its lists, and runs with any values',
    async (t) => {
      const { db } = await open()
      const row = { senderClassification: null, createdAt: 1 }
      await db
        .insertInto('organizations')
        .values(['A', 'B', 'C'].map((name) => ({ ...row, id: `org_${name}`, name })))
        .execute()
      let built = 0
      const find = builtOnce<Question, { readonly id: string; readonly name: string }>((db, place) => {
        built++
        return db
          .selectFrom('organizations')
          .select(['id', 'name'])
          .where('id', 'in', place('ids'))
          .where((eb) => eb.or([eb('name', '=', place('name')), eb('createdAt', '>', 5)]))
      })
      t.same(await find(db, { ids: ['org_A', 'org_B'], name: 'A' }), [{ id: 'org_A', name: 'A' }])
      t.same(await find(db, { ids: ['org_B', 'org_A'], name: 'B' }), [{ id: 'org_B', name: 'B' }])
      t.same(await find(db, { ids: ['org_A', 'org_B'], name: null }), [])
      t.equal(built, 1)
      t.same(await find(db, { ids: ['org_C'], name: 'C' }), [{ id: 'org_C', name: 'C' }])
      t.equal(built, 2)
      await db.transaction().execute(async (trx) => {
        await trx.updateTable('organizations').set({ name: 'D' }).where('id', '=', 'org_C').execute()
        t.same(
          await find(trx, { ids: ['org_C'], name: 'D' }),
          [{ id: 'org_C', name: 'D' }],
          'in its transaction',
        )
      })
      t.equal(built, 2)
    },
  )

  await t.test('rows are inserted with the columns that they have', async (t) => {
    const { db } = await open()
    const insert = insertedOnce('organizations')
    const named = (name: string) => ({ id: `org_${name}`, name, senderClassification: null, createdAt: 1 })
    await insert(db, [])
    await insert(db, [named('A'), named('B')])
    await insert(db, [named('D'), { ...named('C'), senderClassification: 'service' }])
    await insert(db, [{ createdAt: 2, senderClassification: null, name: 'E', id: 'org_E' }])
    const rows = await db
      .selectFrom('organizations')
      .select(['id', 'name', 'senderClassification', 'createdAt'])
      .orderBy('id')
      .execute()
    t.same(rows, [
      named('A'),
      named('B'),
      { ...named('C'), senderClassification: 'service' },
      named('D'),
      { ...named('E'), createdAt: 2 },
    ])
  })
})
