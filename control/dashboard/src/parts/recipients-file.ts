/*
 * The list of people of a campaign: a CSV file as it was given, and as the service takes it. The service judges each
 * row; what is found here only tells the user early.
 */

import { csvText } from './csv-text.js'

export interface Table {
  readonly columns: readonly string[]
  readonly rows: readonly { readonly line: number; readonly cells: readonly string[] }[]
}

/** Meaning of a column of the file: the number, the id of another system, a variable of a name, or nothing (empty). */
export type Mapping = readonly string[]
export const NUMBER = 'e164'
export const EXTERNAL_ID = 'externalId'

/** Lines of a file that are wrong, and why: the key of a text. */
export interface BadRow {
  readonly line: number
  readonly value: string
  readonly reason: 'number' | 'duplicate'
}

const NUMBER_NAMES = /^(e164|phone|number|mobile|telephone|contact)/i
const VARIABLE = /^[a-zA-Z_][a-zA-Z0-9_]{0,49}$/
const DIALABLE = /^\+91[1-9]\d{9}$/

/** Reads a CSV file. Throws with a text of `csv-parse` when it is not CSV. */
export async function readTable(file: File): Promise<Table> {
  const { parse } = await import('csv-parse/browser/esm/sync')
  const { text, delimiter } = await csvText(file)
  const common = { bom: true, skip_empty_lines: true, trim: true, relax_column_count: true, info: true }
  const options = { ...common, delimiter }
  // The types of the library do not know that `info` changes the rows.
  const read = parse(text, options) as unknown as readonly {
    readonly record: readonly string[]
    readonly info: { readonly lines: number }
  }[]
  const [head, ...rows] = read
  const names = head?.record ?? []
  // Spreadsheets write empty columns at the end of every row, and rows of empty cells.
  const columns = names.slice(0, names.findLastIndex((name) => name !== '') + 1)
  const filled = rows.filter(({ record }) => record.some((cell) => cell !== ''))
  return { columns, rows: filled.map(({ record, info }) => ({ line: info.lines, cells: record })) }
}

/** Guesses what each column is. */
export function guessMapping({ columns }: Table): Mapping {
  const number = columns.findIndex((name) => NUMBER_NAMES.test(name))
  return columns.map((name, index) => {
    if (index === number) return NUMBER
    if (/^external_?id$/i.test(name)) return EXTERNAL_ID
    const variable = name.trim().replace(/[^a-zA-Z0-9_]+/g, '_')
    return VARIABLE.test(variable) && variable !== NUMBER ? variable : ''
  })
}

/** Writes a number as the service takes it: `098765 43210` is `+919876543210`. Other texts stay as they are. */
export function asE164(text: string): string {
  const digits = text.replace(/[\s().-]/g, '')
  if (/^[1-9]\d{9}$/.test(digits)) return `+91${digits}`
  if (/^0[1-9]\d{9}$/.test(digits)) return `+91${digits.slice(1)}`
  if (/^91[1-9]\d{9}$/.test(digits)) return `+${digits}`
  return digits
}

/** Returns what is wrong with a mapping: no number, or two columns of a name. Null if it can be used. */
export function mappingProblem(mapping: Mapping): 'noNumber' | 'twice' | null {
  const used = mapping.filter((name) => name !== '')
  if (!used.includes(NUMBER)) return 'noNumber'
  return new Set(used).size === used.length ? null : 'twice'
}

/** Finds the lines that the service will refuse for their number. */
export function badRows(table: Table, mapping: Mapping): readonly BadRow[] {
  const column = mapping.indexOf(NUMBER)
  const seen = new Set<string>()
  return table.rows.flatMap(({ line, cells }): BadRow[] => {
    const value = cells[column] ?? ''
    const e164 = asE164(value)
    if (!DIALABLE.test(e164)) return [{ line, value, reason: 'number' }]
    if (seen.has(e164)) return [{ line, value, reason: 'duplicate' }]
    seen.add(e164)
    return []
  })
}

/** Returns the file for the service: the columns that are used, under the names that it knows. */
export function mappedCsv(table: Table, mapping: Mapping): string {
  const used = mapping.flatMap((name, index) => (name === '' ? [] : [{ name, index }]))
  const quoted = (text: string): string => `"${text.replaceAll('"', '""')}"`
  const rows = table.rows.map(({ cells }) =>
    used
      .map(({ name, index }) => {
        const text = cells[index] ?? ''
        return name === NUMBER ? asE164(text) : text
      })
      // The service refuses a row with more values than columns.
      .concat(cells.slice(table.columns.length).filter((text) => text !== ''))
      .map(quoted),
  )
  return [used.map(({ name }) => quoted(name)), ...rows].map((cells) => `${cells.join(',')}\r\n`).join('')
}
