import type { Readable } from 'node:stream'
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

/** Ends the handler of a request whose body turned out to be unacceptable while it was read. */
export class RefusedBody extends Error {
  constructor(readonly refusal: Refusal) {
    super(refusal.message)
    this.name = 'RefusedBody'
  }
}

/**
 * Reads an upload as CSV in UTF-8, a row at a time. The first row is the header. Ends the handler with a
 * `bad_request` refusal that names the line if the text is not CSV.
 */
export async function* csvRows({
  content,
}: {
  readonly content: AsyncIterable<Uint8Array>
}): AsyncGenerator<CsvRow> {
  const parser = new CsvParser()
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
  const parse = (chunk: Uint8Array | null): CsvRow[] => {
    try {
      if (chunk !== null) return parser.push(decoder.decode(chunk, { stream: true }))
      return [...parser.push(decoder.decode()), ...parser.end()]
    } catch (error) {
      const known = error instanceof CsvError
      const reason = known ? error.message : `Line ${parser.line}: the text is not UTF-8.`
      throw new RefusedBody(refuse('bad_request', `The body is not valid CSV. ${reason}`))
    }
  }
  for await (const chunk of content) yield* parse(chunk)
  yield* parse(null)
}

/** Content to send that is not JSON. It is read as fast as the client takes it. */
export interface Download {
  /** File name suggested to the client. */
  readonly fileName: string
  /** The iterator is closed when the client goes away. */
  readonly content: Uint8Array | AsyncIterable<Uint8Array>
}
