import { z } from 'zod'

const EXTENDED = /^(\d{4}-\d{2}-\d{2})T(\d{2}:\d{2})(:\d{2}(?:[.,]\d{1,9})?)?(Z|[+-]\d{2}(?::?\d{2})?)?$/i
const BASIC = /^(\d{4})(\d{2})(\d{2})T(\d{2})(\d{2})(?:(\d{2}(?:[.,]\d{1,9})?))?(Z|[+-]\d{2}(?:\d{2})?)?$/i

/**
 * The bounds of instants (Unix ms): the first instants of the first and of the last day whose year has four digits in
 * every time zone.
 */
const FIRST = Date.parse('0001-01-02T00:00:00Z')
const LAST = Date.parse('9999-12-31T00:00:00Z')

/**
 * Parses an ISO 8601 date-time in extended or basic format. Returns Unix milliseconds; a time without offset is UTC.
 * Returns null for anything else, including a bare date, an impossible day, and a time outside of the years 1 to 9999 in
 * any time zone.
 */
export function parseInstant(text: string): number | null {
  const match = EXTENDED.exec(text.replace(BASIC, extended))
  if (!match) return null
  const [, date, minutes, seconds = ':00', offset = 'Z'] = match
  const zone = /^[+-]\d{2}$/.test(offset) ? `${offset}:00` : offset.replace(/^([+-]\d{2})(\d{2})$/, '$1:$2')
  const ms = Date.parse(`${date}T${minutes}${seconds.replace(',', '.')}${zone.toUpperCase()}`)
  if (Number.isNaN(ms) || ms < FIRST || ms >= LAST) return null
  // Date.parse turns 30 February into 2 March.
  const day = new Date(`${date}T00:00:00Z`)
  return day.toISOString().startsWith(date ?? '') ? ms : null
}

/** Writes the parts of a date-time in basic format (20260301T100000Z) in extended format. */
function extended(
  _: string,
  year: string,
  month: string,
  day: string,
  hour: string,
  ...rest: string[]
): string {
  const [minute, second, offset = ''] = rest
  return `${year}-${month}-${day}T${hour}:${minute}${second === undefined ? '' : `:${second}`}${offset}`
}

/** A date-time in a query or body, as text. `parseInstant` parses it. */
export const Instant = z
  .string()
  .max(64)
  .refine((text) => parseInstant(text) !== null, 'must be an ISO 8601 date-time in the years 1 to 9999')
  .meta({ format: 'date-time' })
