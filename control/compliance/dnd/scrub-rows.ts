import type { CsvRow } from '../../base/csv.js'
import type { ScrubNumber } from './scrub-store.js'

const COLUMNS = ['e164', 'listed', 'category'] as const
const MAX_CATEGORY = 100
/** A person's line in India has ten digits. */
const NUMBER = /^\+91[1-9]\d{9}$/

/** Positions of the columns in the rows of a file. Category is -1 if the file has none. */
export type ScrubColumns = Readonly<Record<(typeof COLUMNS)[number], number>>

/** Reads the header row of a scrub file. Returns the problem as text. */
export function scrubColumns({ cells }: CsvRow): ScrubColumns | string {
  const names = cells.map((name) => name.trim())
  const known = names.every((name) => COLUMNS.some((column) => column === name))
  const columns = {
    e164: names.indexOf('e164'),
    listed: names.indexOf('listed'),
    category: names.indexOf('category'),
  }
  const complete = columns.e164 >= 0 && columns.listed >= 0 && new Set(names).size === names.length
  return known && complete
    ? columns
    : 'the header row must have the columns e164 and listed, and may have category'
}

/** Reads a row of a scrub file. Returns the problem as text. */
export function scrubNumber({ cells }: CsvRow, columns: ScrubColumns): ScrubNumber | string {
  const width = columns.category === -1 ? 2 : 3
  if (cells.length !== width) return `the row has ${cells.length} cells, the header row has ${width}`
  const cell = (column: keyof ScrubColumns) => (cells[columns[column]] ?? '').trim()
  const e164 = cell('e164')
  if (!NUMBER.test(e164)) return 'e164 must be +91 and ten digits'
  const listed = cell('listed').toLowerCase()
  if (listed !== 'true' && listed !== 'false') return 'listed must be true or false'
  const category = cell('category')
  if (category.length > MAX_CATEGORY) return `category has more than ${MAX_CATEGORY} characters`
  // Unlike the database, files may contain NUL.
  if (/\p{Cc}/u.test(category)) return 'category contains a control character'
  return {
    e164,
    state: listed === 'true' ? 'listed' : 'not_listed',
    category: category === '' ? null : category,
  }
}
