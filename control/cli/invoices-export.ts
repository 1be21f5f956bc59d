import { writeFileSync } from 'node:fs'
import { z } from 'zod'
import { errorText } from '../../media/base/errors.js'
import type { Db } from '../db/database.js'
import { inv01 } from '../invoices/inv01.js'
import { listUnregistered } from '../invoices/store.js'
import { parseOptions, UsageError } from './options.js'

const Day = z.iso.date()

/**
 * Writes the invoices and credit notes to registered recipients that have no IRN as a file for the Invoice Registration Portal.
 * Returns the lines to print, and false if documents are missing from the file because the portal would refuse them.
 */
export async function exportInvoices(
  db: Db,
  args: readonly string[],
): Promise<{ readonly text: string; readonly complete: boolean }> {
  const { values } = parseOptions(args, {
    from: { type: 'string' },
    to: { type: 'string' },
    out: { type: 'string' },
  })
  const day = (name: 'from' | 'to'): string => {
    const given = values[name] ?? ''
    if (Day.safeParse(given).success) return given
    throw new UsageError(`--${name} must be a day, for example 2027-01-31`)
  }
  const days = { from: day('from'), to: day('to') }
  const { out } = values
  if (out === undefined) throw new UsageError('--out must name the file to write')
  const exported = (await listUnregistered(db, days)).map(({ row, original }) => inv01(row, original))
  const documents = exported.flatMap((one) => ('document' in one ? [one.document] : []))
  const problems = exported.flatMap((one) => ('problem' in one ? [`${one.number}: ${one.problem}`] : []))
  try {
    writeFileSync(out, `${JSON.stringify(documents, null, 2)}\n`, { mode: 0o600 })
  } catch (error) {
    throw new UsageError(`${out} cannot be written: ${errorText(error)}`)
  }
  const missing = problems.map((problem) => `Not in the file: ${problem}`)
  return {
    text: [`${documents.length} documents written to ${out}.`, ...missing].join('\n'),
    complete: problems.length === 0,
  }
}
