import { type Compilable, type CompiledQuery, type Insertable, PostgresAdapter } from 'kysely'
import type { Db, Trx } from './database.js'
import type { Database } from './tables/schema.js'

/** The place of a value in a statement that was built once. */
class Place {
  readonly name: PropertyKey
  /** Position in a list. Null for a single value. */
  readonly index: number | null

  constructor(name: PropertyKey, index: number | null) {
    this.name = name
    this.index = index
  }
}

/** Returns the place of a value by its name. */
export type PlaceOf<Values> = <Name extends keyof Values>(name: Name) => Values[Name]

/**
 * Returns a function that runs a statement which is built once, because building one with many joins takes longer than running
 * it. `build` writes `place(name)` where a value of the run stands. A value that is a list makes one place for each of its
 * members, and each length builds the statement anew. Lists must therefore be short.
 */
export function builtOnce<Values extends object, Row>(
  build: (db: Db | Trx, place: PlaceOf<Values>) => Compilable<Row>,
): (db: Db | Trx, values: Values) => Promise<readonly Row[]> {
  const built = new Map<string, CompiledQuery<Row>>()
  return async (db, values) => {
    const lengths = Object.values(values).map((value) => (Array.isArray(value) ? value.length : ''))
    const key = `${db.getExecutor().adapter instanceof PostgresAdapter} ${lengths}`
    let query = built.get(key)
    if (query === undefined) {
      const place = <Name extends keyof Values>(name: Name): Values[Name] => {
        const value: unknown = values[name]
        const places = Array.isArray(value)
          ? value.map((_, index) => new Place(name, index))
          : new Place(name, null)
        // Kysely takes any object for a value.
        return places as Values[Name]
      }
      query = build(db, place).compile()
      built.set(key, query)
    }
    const parameters = query.parameters.map((parameter) => {
      if (!(parameter instanceof Place)) return parameter
      const value: unknown = Reflect.get(values, parameter.name)
      return parameter.index === null ? value : (value as readonly unknown[])[parameter.index]
    })
    return (await db.executeQuery<Row>({ ...query, parameters })).rows
  }
}

/**
 * Returns a function that inserts rows into a table with statements that are built once for each number of rows. The rows of one
 * call have the same columns. It does nothing without rows.
 */
export function insertedOnce<Table extends keyof Database>(
  table: Table,
): (db: Db | Trx, rows: readonly Insertable<Database[Table]>[]) => Promise<void> {
  const built = new Map<string, ReturnType<typeof insertOf>>()
  return async (db, rows) => {
    const [first] = rows
    if (first === undefined) return
    const names = Object.keys(first)
    const key = names.join(' ')
    const insert = built.get(key) ?? insertOf(table, names)
    built.set(key, insert)
    const values = names.map((name) => [name, rows.map((row) => Reflect.get(row, name) as unknown)] as const)
    await insert(db, Object.fromEntries(values))
  }
}

function insertOf(table: keyof Database, names: readonly string[]) {
  return builtOnce<Readonly<Record<string, readonly unknown[]>>, unknown>((db, place) => {
    const columns = names.map((name) => [name, place(name)] as const)
    const rows = columns[0]?.[1]?.map((_, index) =>
      Object.fromEntries(columns.map(([name, values]) => [name, values?.[index]])),
    )
    // The types of the columns were checked with the rows.
    return db.insertInto(table).values(rows as never)
  })
}
