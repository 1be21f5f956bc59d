import type { Readable } from 'node:stream'
import { setImmediate as endOfTurn } from 'node:timers/promises'
import { csvDelimiter, withoutDelimiterLine } from '../../media/base/csv-delimiter.js'
import { CsvError, CsvParser, type CsvRow } from '../base/csv.js'
import { type Refusal, refuse } from './problem.js'

/** Body of a request that is not JSON. It is read while it arrives. */
export interface Upload {
  /** Media type without parameters. One of those that the operation accepts. */
  readonly contentType: string
  /** `Content-Length`, or null if the client did not send it. */
  readonly bytes: number | null
  /**
   * The bytes. Fails with `RefusedBody` when the body is too large or ends too early. The handler lets the
   * error pass, and the client gets the refusal.
   */
  readonly content: Readable
}

/** Rule for a body that is not JSON. */
export interface UploadRule {
  /** Media types without parameters, for example `application/pdf`. */
  readonly accepts: readonly string[]
  readonly maxBytes: number
}

/** Rule for the body of an upload: the rule of its operation, and the error code for a body that is too large. */
export interface ReceivedUploadRule extends UploadRule {
  readonly tooLarge: 'bad_request' | 'document_too_large'
}

/** Ends the handler of a request whose body turned out to be unacceptable while it was read. */
export class RefusedBody extends Error {
  constructor(readonly refusal: Refusal) {
    super(refusal.message)
    this.name = 'RefusedBody'
  }
}

/** Bounds of a CSV body. */
export interface CsvBounds {
  readonly maxColumns: number
  /** Rows below the header row. */
  readonly maxRows: number
}

/** Bytes of CSV that are parsed, and rows that are passed on, before other work of the thread runs. */
const TURN_BYTES = 64 * 1024
const TURN_ROWS = 1_000

/**
 * Reads an upload as CSV in UTF-8, a row at a time. The first row is the header. The first `TURN_BYTES` decide about the
 * delimiter; a line `sep=;`, as Excel writes it, states it and is no row. Ends the handler with a
 * `bad_request` refusal that names the line if the text is not CSV or exceeds a bound. Other requests run after each
 * fixed amount of work, whatever the speed of the host.
 */
export async function* csvRows(
  { content }: { readonly content: AsyncIterable<Uint8Array> },
  { maxColumns, maxRows }: CsvBounds,
): AsyncGenerator<CsvRow> {
  const source = parts(content)
  const head: (Uint8Array | null)[] = []
  for (let bytes = 0; bytes < TURN_BYTES && head.at(-1) !== null; ) {
    const { value } = await source.next()
    head.push(value ?? null)
    bytes += value?.length ?? 0
  }
  const start = new TextDecoder().decode(Buffer.concat(head.filter((part) => part !== null)))
  let skipped = withoutDelimiterLine(start) === start ? 0 : 1
  const parser = new CsvParser(csvDelimiter(start) ?? ',')
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
  const refused = (reason: string) =>
    new RefusedBody(refuse('bad_request', `The body is not valid CSV. ${reason}`))
  const parse = (chunk: Uint8Array | null): CsvRow[] => {
    try {
      if (chunk !== null) return parser.push(decoder.decode(chunk, { stream: true }))
      return [...parser.push(decoder.decode()), ...parser.end()]
    } catch (error) {
      throw refused(error instanceof CsvError ? error.message : `Line ${parser.line}: the text is not UTF-8.`)
    }
  }
  let rows = -1
  for await (const part of joined(head, source)) {
    for (const row of parse(part)) {
      if (skipped-- > 0) continue
      rows++
      // Spreadsheets write empty columns at the end.
      const columns = rows === 0 ? row.cells.findLastIndex((name) => name.trim() !== '') + 1 : 0
      if (columns > maxColumns) {
        throw refused(`The header row has ${columns} columns. The limit is ${maxColumns}; remove some.`)
      }
      if (rows > maxRows) {
        throw refused(`Line ${row.line}: the limit is ${maxRows} rows below the header row. Split the file.`)
      }
      yield row
      if (rows % TURN_ROWS === TURN_ROWS - 1) await endOfTurn()
    }
    await endOfTurn()
  }
}

/** Cuts content into parts of at most `TURN_BYTES`. Null stands for its end. */
async function* parts(content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array | null> {
  for await (const chunk of content) {
    for (let at = 0; at < chunk.length; at += TURN_BYTES) yield chunk.subarray(at, at + TURN_BYTES)
  }
  yield null
}

/** Yields the parts that were read already, then the others. The content is closed when the reader stops. */
async function* joined<T>(read: readonly T[], rest: AsyncGenerator<T>): AsyncGenerator<T> {
  try {
    yield* read
    yield* rest
  } finally {
    await rest.return(undefined)
  }
}

/** Content to send that is not JSON. It is read as fast as the client takes it. */
export interface Download {
  /** File name suggested to the client. */
  readonly fileName: string
  /** The iterator is closed when the client goes away. */
  readonly content: Uint8Array | AsyncIterable<Uint8Array>
}
