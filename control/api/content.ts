import type { Readable } from 'node:stream'
import type { Refusal } from './problem.js'

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

/** What an operation accepts as a body that is not JSON. */
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
