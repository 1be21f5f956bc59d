import { readFileSync } from 'node:fs'
import { type Clock, systemClock } from '../../media/base/clock.js'
import { csvDelimiter, withoutDelimiterLine } from '../../media/base/csv-delimiter.js'
import { errorText } from '../../media/base/errors.js'
import { CsvError, CsvParser } from '../base/csv.js'
import type { Db } from '../db/database.js'
import { type PortalAnswer, portalAnswer } from '../invoices/portal-answers.js'
import { registerInvoice } from '../invoices/register.js'
import { UsageError } from './options.js'

/**
 * Imports the answers of an Invoice Registration Portal from a file: JSON, or CSV with a header. Returns the lines to print, and
 * false if answers were refused. Each answer counts for itself. Throws UsageError if the file has no answers.
 */
export async function importInvoices(
  db: Db,
  args: readonly string[],
  clock: Clock = systemClock,
): Promise<{ readonly text: string; readonly complete: boolean }> {
  const [path, ...more] = args
  if (path === undefined || more.length > 0)
    throw new UsageError('give one file: parley invoices import FILE')
  const answers = answersOf(path)
  const counts = { registered: 0, known: 0, refused: 0 }
  const refusals: string[] = []
  for (const { place, answer } of answers) {
    const result = await registerInvoice({ db, clock }, answer)
    counts[result.outcome]++
    if (result.outcome === 'refused') {
      const about = result.number === null ? place : `${place}, ${result.number}`
      refusals.push(`Refused, ${about}: ${result.reason}.`)
    }
  }
  const { registered, known, refused } = counts
  const total = `${registered} documents registered, ${known} were registered before, ${refused} answers refused.`
  return { text: [total, ...refusals].join('\n'), complete: refused === 0 }
}

/** An answer and where it stands in the file. */
interface Placed {
  readonly place: string
  readonly answer: PortalAnswer
}

function answersOf(path: string): readonly Placed[] {
  const text = contentOf(path).replace(/^\uFEFF/, '')
  const answers = /^\s*[[{]/.test(text) ? fromJson(path, text) : fromCsv(path, text)
  if (answers.length === 0) throw new UsageError(`${path} has no answers`)
  return answers
}

function contentOf(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw new UsageError(`${path} cannot be read: ${errorText(error)}`)
  }
}

function fromJson(path: string, text: string): readonly Placed[] {
  let parsed: unknown
  try {
    parsed = JSON.parse(text)
  } catch (error) {
    throw new UsageError(`${path} is not valid JSON: ${errorText(error)}`)
  }
  const entries: readonly unknown[] = Array.isArray(parsed) ? parsed : [parsed]
  return entries.map((entry, index) => ({
    place: `entry ${index + 1}`,
    answer: portalAnswer(typeof entry === 'object' && entry !== null ? Object.entries(entry) : []),
  }))
}

function fromCsv(path: string, text: string): readonly Placed[] {
  const parser = new CsvParser(csvDelimiter(text) ?? ',')
  try {
    const [header, ...rows] = [...parser.push(withoutDelimiterLine(text)), ...parser.end()]
    return rows.map(({ line, cells }) => ({
      place: `line ${line}`,
      answer: portalAnswer(cells.map((cell, index) => [header?.cells[index] ?? '', cell] as const)),
    }))
  } catch (error) {
    if (!(error instanceof CsvError)) throw error
    throw new UsageError(`${path} is neither JSON nor CSV. ${error.message}`)
  }
}
