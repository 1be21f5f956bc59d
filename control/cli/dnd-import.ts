import { createReadStream } from 'node:fs'
import { parseArgs } from 'node:util'
import { type Clock, systemClock } from '../../media/base/clock.js'
import { errorText } from '../../media/base/errors.js'
import { RefusedBody } from '../api/content.js'
import { parseInstant } from '../base/instant.js'
import { importScrub } from '../compliance/dnd/scrub-import.js'
import type { Db } from '../db/database.js'
import { UsageError } from './options.js'

/** Imports a scrub file of the DND register. Returns the line to print. Throws UsageError with the wrong lines. */
export async function importScrubFile(
  db: Db,
  args: readonly string[],
  clock: Pick<Clock, 'wall'> = systemClock,
): Promise<string> {
  const { path, scrubbedAt, validUntil } = parse(args)
  try {
    const file = { content: bytesOf(path), scrubbedAt, validUntil, createdBy: null }
    const made = await importScrub({ db, clock }, file)
    if ('problems' in made) {
      const lines = made.problems.map(({ at, reason }) => `${OPTIONS[at] ?? `Line ${at}`}: ${reason}`)
      const more = made.count - lines.length
      if (more > 0) lines.push(`${more} more lines are wrong.`)
      throw new UsageError(`${path} was not imported.\n${lines.join('\n')}`)
    }
    return `${made.rows} rows imported as ${made.id}, valid until ${new Date(made.validUntil).toISOString()}.`
  } catch (error) {
    if (error instanceof RefusedBody) throw new UsageError(`${path} was not imported. ${error.message}`)
    if ((error as NodeJS.ErrnoException).syscall !== undefined) {
      throw new UsageError(`${path} cannot be read: ${errorText(error)}`)
    }
    throw error
  }
}

/** Opens the file when its bytes are asked for, so that its errors reach the import. */
async function* bytesOf(path: string): AsyncGenerator<Uint8Array> {
  yield* createReadStream(path)
}

const OPTIONS: Readonly<Record<string, string>> = {
  scrubbedAt: '--scrubbed-at',
  validUntil: '--valid-until',
  file: 'The file',
}

function parse(args: readonly string[]) {
  const { values, positionals } = options(args)
  const [path, ...more] = positionals
  if (path === undefined || more.length > 0) throw new UsageError('give one file: parley dnd import FILE')
  const instant = (name: keyof typeof values) => {
    const ms = parseInstant(values[name] ?? '')
    if (ms !== null) return ms
    throw new UsageError(`--${name} must be an ISO 8601 time, for example 2027-01-31T10:00:00+05:30`)
  }
  const validUntil = values['valid-until'] === undefined ? null : instant('valid-until')
  return { path, scrubbedAt: instant('scrubbed-at'), validUntil }
}

function options(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: { 'scrubbed-at': { type: 'string' }, 'valid-until': { type: 'string' } },
    })
  } catch (error) {
    throw new UsageError(errorText(error))
  }
}
