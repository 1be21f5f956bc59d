import type { Readable } from 'node:stream'
import type { ByteRange } from '../objects/object-store.js'
import type { Refusal } from './problem.js'

/** A file to send. The server handles byte ranges and conditional requests. */
export interface FileReply {
  readonly bytes: number
  /** Names the content, for example its hash. Without quotes. */
  readonly version: string
  /** Unix ms. */
  readonly modifiedAt: number
  readonly contentType: string
  /** File name suggested to the client. */
  readonly fileName: string
  /** Opens the file, or an inclusive range within it. */
  open(range?: ByteRange): Promise<Readable | Refusal>
}

const headed = Symbol('headed')

/** A result with what else the response says: headers, entries of `meta.warnings`, and that nothing was created. */
export interface ResultWithHeaders<T> {
  readonly [headed]: true
  readonly value: T
  readonly headers: ResponseHeaders
  readonly warnings: readonly unknown[]
  readonly existed: boolean
}

export type ResponseHeaders = Readonly<Record<string, string | readonly string[]>>

/** Adds response headers to a result. They are not repeated when an idempotent response is replayed. */
export function withHeaders<T>(value: T, headers: ResponseHeaders): ResultWithHeaders<T> {
  return { [headed]: true, value, headers, warnings: [], existed: false }
}

/** Adds entries of `meta.warnings` to a result: what is missing from it, and why. */
export function withWarnings<T>(value: T, warnings: readonly unknown[]): ResultWithHeaders<T> {
  return { [headed]: true, value, headers: {}, warnings, existed: false }
}

/** Marks a result that was there before: an operation with `mayExist` answers 200 instead of 201. */
export function existing<T>(value: T): ResultWithHeaders<T> {
  return { [headed]: true, value, headers: {}, warnings: [], existed: true }
}

export function hasOwnHeaders(outcome: unknown): outcome is ResultWithHeaders<unknown> {
  return typeof outcome === 'object' && outcome !== null && headed in outcome
}

/** A result that is JSON text already. It is sent without a check against the result schema. */
export class JsonText {
  /** `gzip`: the same text compressed, for clients that accept it. */
  constructor(
    readonly text: string,
    readonly gzip: Uint8Array | null = null,
  ) {}
}

/** Result of a handler. */
export type Outcome<T> = T | JsonText | ResultWithHeaders<T | JsonText> | Refusal
export type Answer<T> = Outcome<T> | Promise<Outcome<T>>
