import { csvDelimiter, withoutDelimiterLine } from '../../../../media/base/csv-delimiter.js'
import { decodeText } from '../../../../media/base/decode-text.js'

/**
 * Reads a CSV file in any usual encoding, and finds its delimiter. For a table of one column the delimiter is a
 * character that it does not contain.
 */
export async function csvText(file: File): Promise<{ readonly text: string; readonly delimiter: string }> {
  const text = decodeText(new Uint8Array(await file.arrayBuffer()))
  return { text: withoutDelimiterLine(text), delimiter: csvDelimiter(text) ?? '\u001f' }
}
