import { type Expression, type RawBuilder, type SelectQueryBuilder, type SqlBool, sql } from 'kysely'
import type { Db } from '../db/database.js'
import { unindexedNumber } from '../db/owned-rows.js'

/** End of a page: the sort value, and the id that breaks ties. */
export interface Position {
  readonly key: number | string
  readonly id: string
}

/** Page requested by a client. */
export interface PageRequest {
  readonly limit: number
  /** Position after which the page starts. Null on the first page. */
  readonly after: Position | null
}

/** Page returned by a list handler. */
export interface Page<T> {
  readonly items: readonly T[]
  /** Position of the last item if there are more items, else null. */
  readonly next: Position | null
  /** Number of matching items, counted up to `COUNT_LIMIT` + 1. Only on the first page. */
  readonly total?: number
}

/** Maximum exact total. */
export const COUNT_LIMIT = 10_000

/** Returns a page of rows that were fetched with `limit + 1`. `convert` converts each item. */
export function pageOf<Row, T>(
  rows: readonly Row[],
  page: PageRequest,
  position: (row: Row) => Position,
  convert: (row: Row) => T,
  total?: number,
): Page<T> {
  const kept = rows.slice(0, page.limit)
  const last = kept.at(-1)
  const next = rows.length > page.limit && last !== undefined ? position(last) : null
  return { items: kept.map(convert), next, ...(total === undefined ? {} : { total }) }
}

/**
 * Returns the keyset condition of a list sorted by `key desc, id desc`, which is true on the first page.
 * Columns may be qualified (`calls.createdAt`). The key may be an expression.
 */
export function olderThan(
  page: PageRequest,
  key: string | RawBuilder<unknown>,
  idColumn: string,
): RawBuilder<SqlBool> {
  if (page.after === null) return sql<SqlBool>`1 = 1`
  const value = typeof key === 'string' ? sql.ref(key) : key
  return sql<SqlBool>`(${value}, ${sql.ref(idColumn)}) < (${page.after.key}, ${page.after.id})`
}

interface Created {
  readonly createdAt: number
}

/**
 * Returns a page of a query, newest first: sorted by `createdAt desc`, ties broken by id. Pass `alias` if
 * the query joins tables, and `id` if another column identifies the rows. Pass `few` if a condition of the query has an
 * index of its own and selects few rows. With `count`, a query of all matching rows, the first page includes the total.
 */
export async function newestFirst<DB, TB extends keyof DB, Row extends Created>(
  query: SelectQueryBuilder<DB, TB, Row>,
  page: PageRequest,
  options: {
    readonly alias?: string
    readonly id?: keyof Row & string
    readonly few?: boolean
    readonly count?: { readonly db: Db; readonly query: Expression<unknown> }
  } = {},
): Promise<Page<Row>> {
  const { alias, id = 'id', few = false, count } = options
  const column = (name: string): string => (alias === undefined ? name : `${alias}.${name}`)
  const key = few ? unindexedNumber(column('createdAt')) : sql.ref(column('createdAt'))
  const rows: readonly Row[] = await query
    .where(olderThan(page, key, column(id)))
    .orderBy(key, 'desc')
    .orderBy(sql.ref(column(id)), 'desc')
    .limit(page.limit + 1)
    .execute()
  const total =
    count === undefined || page.after !== null
      ? undefined
      : // A first page that is not full shows all rows.
        rows.length <= page.limit
        ? rows.length
        : await countCapped(count.db, count.query)
  const position = (row: Row): Position => ({ key: row.createdAt, id: String(Reflect.get(row, id)) })
  return pageOf(rows, page, position, (row) => row, total)
}

/** Rows that an export reads at once. The garbage collector keeps larger pages longer. */
const EXPORT_PAGE = 200

/**
 * Reads a list page after page, for exports. Each page is its own statement, so that a slow client holds no database
 * connection. Rows that are added meanwhile are newer than the first page and do not appear.
 */
export async function* allPages<T>(
  read: (page: PageRequest) => Promise<Page<T>>,
): AsyncGenerator<readonly T[]> {
  let after: Position | null = null
  do {
    const page: Page<T> = await read({ limit: EXPORT_PAGE, after })
    yield page.items
    after = page.next
  } while (after !== null)
}

/** Counts the rows of a query up to `limit` + 1. The query must have no order and no limit. */
export async function countCapped(db: Db, query: Expression<unknown>, limit = COUNT_LIMIT): Promise<number> {
  const counted = await sql<{ n: number }>`
    select count(*) as n from (select 1 from (${query}) as matching limit ${sql.lit(limit + 1)}) as counted`.execute(
    db,
  )
  return counted.rows[0]?.n ?? 0
}
