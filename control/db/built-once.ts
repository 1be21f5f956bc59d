import { type Compilable, type CompiledQuery, PostgresAdapter } from 'kysely'
import type { Db, Trx } from './database.js'

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
