import { parse } from 'csv-parse/sync'
import { csvDelimiter, withoutDelimiterLine } from '../../../media/base/csv-delimiter.js'
import type { TextBlock } from '../../../media/knowledge/text-blocks.js'
import { CharacterCount, RefusedDocument } from './refused-document.js'

const MAX_COLUMNS = 200
const MAX_RECORD = 100_000

/** Returns one block per row of a CSV file. Each repeats the names of the columns, which say what the values mean. */
export function csvBlocks(text: string): TextBlock[] {
  let rows: string[][]
  try {
    rows = parse(withoutDelimiterLine(text), {
      bom: true,
      // A table of one column is not split.
      delimiter: csvDelimiter(text) ?? '\u001f',
      relax_column_count: true,
      relax_quotes: true,
      skip_empty_lines: true,
      max_record_size: MAX_RECORD,
      trim: true,
    })
  } catch {
    throw new RefusedDocument('The file is not valid CSV. Export it again as CSV with UTF-8 encoding.')
  }
  const [header = [], ...body] = rows
  if (header.length > MAX_COLUMNS) {
    throw new RefusedDocument(`The table has more than ${MAX_COLUMNS} columns. Remove some.`)
  }
  const count = new CharacterCount()
  return (body.length === 0 ? [header] : body).map((row) => {
    const text = row
      .map((value, at) => (value === '' ? '' : body.length === 0 ? value : `${header[at] ?? ''}: ${value}`))
      .filter((cell) => cell !== '')
      .join('; ')
    // Each row of the text repeats the header, so that the text may be far longer than the file.
    count.add(text)
    return { text, level: null, page: null }
  })
}
