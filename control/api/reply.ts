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

/** A result with additional response headers, for example cookies, and with entries of `meta.warnings`. */
export interface ResultWithHeaders<T> {
  readonly [headed]: true
  readonly value: T
  readonly headers: ResponseHeaders
  readonly warnings: readonly unknown[]
}

export type ResponseHeaders = Readonly<Record<string, string | readonly string[]>>

/** Adds response headers to a result. They are not repeated when an idempotent response is replayed. */
export function withHeaders<T>(value: T, headers: ResponseHeaders): ResultWithHeaders<T> {
  return { [headed]: true, value, headers, warnings: [] }
}

/** Adds entries of `meta.warnings` to a result: what is missing from it, and why. */
export function withWarnings<T>(value: T, warnings: readonly unknown[]): ResultWithHeaders<T> {
  return { [headed]: true, value, headers: {}, warnings }
}

export function hasOwnHeaders(outcome: unknown): outcome is ResultWithHeaders<unknown> {
  return typeof outcome === 'object' && outcome !== null && headed in outcome
}

/** A result that is JSON text already. It is sent without a check against the result schema. */
export class JsonText {
  constructor(readonly text: string) {}
}

/** What a handler returns. */
export type Outcome<T> = T | JsonText | ResultWithHeaders<T | JsonText> | Refusal
export type Answer<T> = Outcome<T> | Promise<Outcome<T>>
