/** A value of a cell. Null is an empty cell. */
export type CsvValue = string | number | boolean | null

export interface CsvColumn<Row> {
  readonly name: string
  /** Telephone numbers keep their leading `+`. */
  readonly kind?: 'e164'
  value(row: Row): CsvValue
}

const BOM = '\uFEFF'
const E164 = /^\+\d{1,15}$/
/** Spreadsheets run such text as a formula. */
const FORMULA = /^[=+\-@\t\r]/

/**
 * Encodes rows as CSV in UTF-8 (RFC 4180) with a byte order mark, which spreadsheets need, and a header row. Yields
 * one chunk per batch, so that only one batch is in memory. `view` makes what the columns read, for one row at a
 * time: V8 allocates objects that live as long as a batch in the old generation, and collects them late. Text that a
 * spreadsheet would run as a formula gets a leading apostrophe.
 */
export async function* encodeCsv<Row, View>(
  columns: readonly CsvColumn<View>[],
  batches: AsyncIterable<readonly Row[]>,
  view: (row: Row) => View,
): AsyncGenerator<Uint8Array> {
  let head = BOM + line(columns.map(({ name }) => name))
  const encoded = (row: Row): string => {
    const shown = view(row)
    return line(columns.map((column) => cell(column, shown)))
  }
  for await (const rows of batches) {
    const text = rows.map(encoded).join('')
    yield Buffer.from(head + text)
    head = ''
  }
  if (head !== '') yield Buffer.from(head)
}

function cell<Row>({ kind, value }: CsvColumn<Row>, row: Row): string {
  const found = value(row)
  if (typeof found !== 'string') return found === null ? '' : String(found)
  const safe = !FORMULA.test(found) || (kind === 'e164' && E164.test(found))
  return safe ? found : `'${found}`
}

function line(cells: readonly string[]): string {
  return `${cells.map(quoted).join(',')}\r\n`
}

function quoted(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

/** A parsed row. */
export interface CsvRow {
  /** Line at which the row ends, from 1. */
  readonly line: number
  readonly cells: readonly string[]
}

/** The text is not CSV. The message names the line. */
export class CsvError extends Error {}

/** A row with more characters is not accepted. */
const MAX_ROW = 64 * 1024

/**
 * Parses CSV (RFC 4180, or with another delimiter than a comma) as it arrives. Lines end with CRLF or LF, and empty
 * lines are skipped. A byte order mark is skipped. Throws `CsvError` for a quote in the wrong place and for a row that
 * is too long.
 */
export class CsvParser {
  #row: string[] = []
  #cell = ''
  #length = 0
  /** `start` of a cell, in a `plain` or `quoted` cell, or behind the closing quote of one. */
  #place: 'start' | 'plain' | 'quoted' | 'closed' = 'start'
  #line = 1
  #first = true

  constructor(readonly delimiter: string = ',') {}

  /** Line of the text that was parsed last, from 1. */
  get line(): number {
    return this.#line
  }

  /** Parses more text. Returns the rows that are complete now. */
  push(text: string): CsvRow[] {
    const rows: CsvRow[] = []
    const start = this.#first && text.startsWith(BOM) ? 1 : 0
    if (text !== '') this.#first = false
    for (let i = start; i < text.length; i++) {
      const character = text.charAt(i)
      if (++this.#length > MAX_ROW) throw this.#error(`the row has more than ${MAX_ROW} characters`)
      if (this.#place === 'quoted') {
        if (character === '\n') this.#line++
        if (character === '"') this.#place = 'closed'
        else this.#cell += character
      } else if (character === '\n') {
        this.#endRow(rows)
        this.#line++
      } else if (character === this.delimiter) this.#endCell()
      else this.#take(character)
    }
    return rows
  }

  /** Ends the text. Returns the last row if no line end followed it. */
  end(): CsvRow[] {
    if (this.#place === 'quoted') throw this.#error('a quote is not closed')
    const rows: CsvRow[] = []
    this.#endRow(rows)
    return rows
  }

  /** Takes a character of a cell that is not quoted, or one behind a quote. */
  #take(character: string): void {
    if (character === '"') {
      if (this.#place === 'plain') throw this.#error('a quote stands inside a cell that is not quoted')
      // Two quotes inside a quoted cell are one.
      if (this.#place === 'closed') this.#cell += '"'
      this.#place = 'quoted'
      return
    }
    if (this.#place === 'closed' && character !== '\r') throw this.#error('text follows a closing quote')
    if (this.#place === 'start') this.#place = 'plain'
    if (this.#place === 'plain') this.#cell += character
  }

  #endCell(): void {
    this.#row.push(this.#cell)
    this.#cell = ''
    this.#place = 'start'
  }

  #endRow(rows: CsvRow[]): void {
    if (this.#place === 'plain' && this.#cell.endsWith('\r')) this.#cell = this.#cell.slice(0, -1)
    const empty = this.#row.length === 0 && this.#cell === '' && this.#place !== 'closed'
    this.#endCell()
    if (!empty) rows.push({ line: this.#line, cells: this.#row })
    this.#row = []
    this.#length = 0
  }

  #error(reason: string): CsvError {
    return new CsvError(`Line ${this.#line}: ${reason}.`)
  }
}
