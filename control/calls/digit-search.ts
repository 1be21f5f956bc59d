import { PostgresAdapter, type RawBuilder, type SqlBool, sql } from 'kysely'
import type { Db } from '../db/database.js'

/** Minimum number of digits of a search, the length of what the index holds. */
export const SEARCH_MIN_DIGITS = 3

/**
 * Calls up to which SQLite reads a search from the index. More of them are found sooner among the newest calls.
 * PostgreSQL decides by its own statistics.
 */
const MOST_INDEXED = 5_000

/** Returns the digits of a call search without formatting, or null when there are too few. */
export function searchDigits(text: string): string | null {
  const digits = text.replace(/\D/g, '')
  return digits.length >= SEARCH_MIN_DIGITS ? digits : null
}

/** The condition of a search. */
export interface DigitCondition {
  readonly matches: RawBuilder<SqlBool>
  /** The calls are read by their ids: SQLite, which knows no sizes, would rather walk through all calls by time. */
  readonly byId: boolean
}

/** Returns the condition of calls with these digits in one of their numbers (`searchDigits`). */
export async function callsWithDigits(db: Db, digits: string): Promise<DigitCondition> {
  // Digits have no special meaning in LIKE.
  const pattern = `%${digits}%`
  const matches = sql<SqlBool>`("calls"."fromNumber" like ${pattern} or "calls"."toNumber" like ${pattern})`
  if (db.getExecutor().adapter instanceof PostgresAdapter) {
    const parts = Array.from({ length: digits.length - 2 }, (_, at) => digits.slice(at, at + 3))
    const indexed = sql<SqlBool>`"callDigits"("calls"."fromNumber", "calls"."toNumber") @> ${parts}`
    return { matches: sql<SqlBool>`(${matches} and ${indexed})`, byId: false }
  }
  const indexed = sql`select "rowid" from "callDigitsIndex" where "digits" like ${pattern}`
  const { rows } = await sql<{ n: number }>`
    select count(*) as n from (${indexed} limit ${sql.lit(MOST_INDEXED + 1)})`.execute(db)
  if ((rows[0]?.n ?? 0) > MOST_INDEXED) return { matches, byId: false }
  const ids = sql`select "callId" from "callDigits" where "n" in (${indexed})`
  return { matches: sql<SqlBool>`"calls"."id" in (${ids})`, byId: true }
}
