import { DummyDriver, Kysely, SqliteAdapter, SqliteIntrospector, sql } from 'kysely'
import t from 'tap'
import { LiteralLimits } from './literal-limits.js'
import type { Database } from './tables/schema.js'

t.test('limits are in the text of statements for SQLite', (t) => {
  const db = new Kysely<Database>({
    dialect: {
      createAdapter: () => new SqliteAdapter(),
      createDriver: () => new DummyDriver(),
      createIntrospector: (db) => new SqliteIntrospector(db),
      createQueryCompiler: () => new LiteralLimits(),
    },
  })
  const query = db.selectFrom('calls').select('id').where('id', '=', 'call_1')
  const { sql: text, parameters } = query.limit(3).compile()
  t.equal(text, 'select "id" from "calls" where "id" = ? limit 3')
  t.same(parameters, ['call_1'])
  t.match(query.limit(sql<number>`1 + 1`).compile().sql, /limit 1 \+ 1$/)
  t.match(query.limit(0.5).compile(), { sql: /limit \?$/, parameters: ['call_1', 0.5] }, 'SQLite refuses it')
  t.end()
})
