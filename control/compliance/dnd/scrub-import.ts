import { createHash } from 'node:crypto'
import type { Clock } from '../../../media/base/clock.js'
import { csvRows } from '../../api/content.js'
import type { Db } from '../../db/database.js'
import { istMidnight } from '../calling-hours.js'
import { type ScrubColumns, scrubColumns, scrubNumber } from './scrub-rows.js'
import {
  completeScrub,
  discardScrub,
  type ImportedScrub,
  insertScrubNumbers,
  type ScrubNumber,
  startScrub,
} from './scrub-store.js'

const DAY_MS = 86_400_000
/** IST days on which a scrub counts, the day of the scrub included. */
const VALID_DAYS = 7
const BATCH = 500
const REPORTED = 20
/** More columns than a scrub file has: the answer to a wrong header then names the missing column. */
const MAX_COLUMNS = 51
const MAX_ROWS = 5_000_000

export interface ScrubFile {
  readonly content: AsyncIterable<Uint8Array>
  /** Unix ms. When the register answered. */
  readonly scrubbedAt: number
  /** Unix ms. Null is the end of the seventh IST day. */
  readonly validUntil: number | null
  /** Id of the staff user. Null on the command line. */
  readonly createdBy: string | null
}

/** Why a file was not imported. */
export interface ScrubProblems {
  /** Wrong rows; 1 for a wrong time or a file without rows. */
  readonly count: number
  /** The first of them. */
  readonly problems: readonly {
    /** Line of the file, from 1, or the name of a time, or `file`. */
    readonly at: number | 'scrubbedAt' | 'validUntil' | 'file'
    readonly reason: string
  }[]
}

/**
 * Imports a scrub file: CSV with the columns `e164`, `listed` and optionally `category`. One batch of rows is in memory.
 * The numbers count once the whole file is stored; a file with a wrong row leaves nothing behind. A number that occurs
 * twice is listed if one of its rows says so. Rejects with `RefusedBody` if the content is no CSV, and if it cannot be
 * read to its end.
 */
export async function importScrub(
  { db, clock }: { readonly db: Db; readonly clock: Pick<Clock, 'wall'> },
  file: ScrubFile,
): Promise<ImportedScrub | ScrubProblems> {
  const now = clock.wall()
  const { scrubbedAt, createdBy } = file
  const latest = istMidnight(scrubbedAt) + VALID_DAYS * DAY_MS
  const validUntil = file.validUntil ?? latest
  if (scrubbedAt > now) return problem('scrubbedAt', 'must not be in the future')
  if (latest <= now) return problem('scrubbedAt', `is more than ${VALID_DAYS} days ago`)
  if (validUntil > latest) {
    return problem('validUntil', `must be ${new Date(latest).toISOString()} or earlier`)
  }
  if (validUntil <= now) return problem('validUntil', 'must be in the future')

  const scrub = await startScrub(db, { scrubbedAt, validUntil, createdBy }, now)
  let complete = false
  try {
    const hash = createHash('sha256')
    const read = await readRows(hashed(file.content, hash), (batch) =>
      insertScrubNumbers(db, scrub.id, batch),
    )
    if (typeof read !== 'number') return read
    if (read === 0) return problem('file', 'has no rows')
    const done = await completeScrub(db, scrub, { rows: read, sha256: hash.digest('hex') }, clock.wall())
    complete = true
    return done
  } finally {
    if (!complete) await discardScrub(db, scrub.id)
  }
}

/** Passes the rows of a file on in batches. Returns their number, or the wrong rows: nothing is stored after one. */
async function readRows(
  content: AsyncIterable<Uint8Array>,
  store: (batch: readonly ScrubNumber[]) => Promise<void>,
): Promise<number | ScrubProblems> {
  const problems: { at: number; reason: string }[] = []
  let wrong = 0
  let rows = 0
  let columns: ScrubColumns | null = null
  let batch = new Map<string, ScrubNumber>()
  for await (const row of csvRows({ content }, { maxColumns: MAX_COLUMNS, maxRows: MAX_ROWS })) {
    if (columns === null) {
      const found = scrubColumns(row)
      if (typeof found === 'string') return { count: 1, problems: [{ at: row.line, reason: found }] }
      columns = found
      continue
    }
    rows++
    const number = scrubNumber(row, columns)
    if (typeof number === 'string') {
      wrong++
      if (problems.length < REPORTED) problems.push({ at: row.line, reason: number })
    } else if (wrong === 0) {
      if (batch.get(number.e164)?.state !== 'listed') batch.set(number.e164, number)
      if (batch.size === BATCH) {
        await store([...batch.values()])
        batch = new Map()
      }
    }
  }
  if (wrong > 0) return { count: wrong, problems }
  if (batch.size > 0) await store([...batch.values()])
  return rows
}

async function* hashed(
  content: AsyncIterable<Uint8Array>,
  hash: { update(chunk: Uint8Array): unknown },
): AsyncGenerator<Uint8Array> {
  for await (const chunk of content) {
    hash.update(chunk)
    yield chunk
  }
}

function problem(at: ScrubProblems['problems'][number]['at'], reason: string): ScrubProblems {
  return { count: 1, problems: [{ at, reason }] }
}
