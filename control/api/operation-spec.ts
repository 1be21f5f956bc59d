import type { z } from 'zod'
import type { CsvColumn } from '../base/csv.js'
import type { AddressPurpose } from '../base/signed-address.js'
import type { Trx } from '../db/database.js'
import type { Role } from '../db/tables/identity.js'
import type { ActorOf, Audience, Environment, Scope } from './actor.js'
import type { Download, Upload, UploadRule } from './content.js'
import type { Deps } from './deps.js'
import type { EventStream } from './event-stream.js'
import type { Page, PageRequest } from './pagination.js'
import type { ErrorCode, Refusal } from './problem.js'
import type { Answer, FileReply } from './reply.js'
import type { SchemeOf, SignatureScheme } from './signature-scheme.js'

export type Method = 'get' | 'post' | 'put' | 'patch' | 'delete'

/** Input of a handler. Handlers have no access to the HTTP request and response. */
export interface Input<P, Q, B, A extends Audience> {
  readonly params: P
  readonly query: Q
  readonly body: B
  readonly actor: ActorOf<A>
  readonly deps: Deps
  readonly requestId: string
  /**
   * Id that is the same for every retry of the same request, even after a crash. A change that cannot use `keep`
   * stores it in a unique column. A retry then finds the row and returns it. Null without an `Idempotency-Key` header.
   */
  readonly idempotencyId: string | null
  /**
   * Stores the answer of the request in the transaction of its change, as the last statement, and returns it: a
   * repetition gets it, also when the answer to the commit was lost, and the change happens once. Rejects, so that the
   * transaction rolls back, when a later repetition has taken over. Without an `Idempotency-Key` it only returns.
   */
  readonly keep: <T>(trx: Trx, answer: T) => Promise<T>
  /** Returns the value of a cookie of the request, or null. */
  readonly cookie: (name: string) => string | null
}

export type ListInput<P, Q, A extends Audience> = Input<P, Q, undefined, A> & { readonly page: PageRequest }

export interface OperationBase<P extends z.ZodObject, A extends Audience> {
  /** OpenAPI operationId; unique. */
  readonly id: string
  /** Path with `:name` parameters. */
  readonly path: `/v1/${string}`
  readonly tag: string
  /** Imperative, without a full stop, at most 60 characters. */
  readonly summary: string
  /** Details that do not fit the summary; full sentences. */
  readonly description?: string
  readonly audience: A
  /** Minimum scope. Required for audience `key`. */
  readonly scope?: Scope
  /**
   * Roles that may call an operation of audience `session`. Default: all. Other roles get 403 `forbidden`.
   */
  readonly roles?: readonly Role[]
  /**
   * Environment of the keys that may call. Others get 403 `forbidden`. Operations that need a live key are
   * open to sessions in both environments.
   */
  readonly environment?: Environment
  /** Requests per minute and address for audience `public`. More get 429. */
  readonly perMinute?: number
  /**
   * Required for audience `signed`: the scheme of the service itself, or a function for senders with schemes of
   * their own. An unknown sender gets 404.
   */
  readonly signature?: SignatureScheme | SchemeOf
  /** Required for audience `address`. The path then has the parameter `token`. */
  readonly address?: AddressPurpose
  /**
   * One entry per `:name` of the path. An invalid `idParam` results in 404, any other invalid value in 400.
   */
  readonly params?: P
  /** Error codes that the handler returns. Codes of the common checks need not be listed. */
  readonly fails: readonly ErrorCode[]
}

export interface ObjectReplySpec<
  P extends z.ZodObject,
  Q extends z.ZodObject,
  R extends z.ZodType,
  A extends Audience,
> extends OperationBase<P, A> {
  readonly method: Method
  /** Unknown parameters are always rejected. Values are strings. */
  readonly query?: Q
  /** Object inside `{ data }`, parsed before it is sent. Missing only with status 204. */
  readonly result?: R
  readonly status: 200 | 201 | 202 | 204
  /** Only with status 201: the object may be there already. The handler then returns `existing(object)`. */
  readonly mayExist?: true
  /** The result is the whole body, without `{ data }`. */
  readonly bare?: true
  readonly idempotent?: 'accepted' | 'required'
  /** Schema of an entry of `meta.warnings`, for `withWarnings`. Only for results inside `{ data }`. */
  readonly warning?: z.ZodType
}

export interface OperationSpec<
  P extends z.ZodObject,
  Q extends z.ZodObject,
  B extends z.ZodType,
  R extends z.ZodType,
  A extends Audience,
> extends ObjectReplySpec<P, Q, R, A> {
  /** Use `z.strictObject` at every level, so that unknown fields are errors. */
  readonly body?: B
  /** Default: 1 MiB, and 10,000 members of objects and elements of arrays. */
  readonly limits?: { readonly bodyBytes: number; readonly bodyValues: number }
  run(
    input: Input<z.output<P>, z.output<Q>, z.output<B>, A>,
  ): Answer<R extends z.ZodUndefined ? void : z.input<R>>
}

export interface UploadSpec<
  P extends z.ZodObject,
  Q extends z.ZodObject,
  R extends z.ZodType,
  A extends Audience,
> extends ObjectReplySpec<P, Q, R, A>,
    UploadRule {
  run(input: Input<z.output<P>, z.output<Q>, Upload, A>): Answer<R extends z.ZodUndefined ? void : z.input<R>>
}

export interface ListSpec<
  P extends z.ZodObject,
  Q extends z.ZodObject,
  R extends z.ZodType,
  A extends Audience,
> extends OperationBase<P, A> {
  /** Filters. `limit` and `cursor` are added unless `paged` is false. */
  readonly query?: Q
  /** Schema of one item. */
  readonly result: R
  /** Page size if the client sets none. Default: 25. */
  readonly defaultLimit?: number
  /** False for short lists that always fit on one page. */
  readonly paged?: false
  /** Schema of an entry of `meta.warnings`, for `withWarnings`. */
  readonly warning?: z.ZodType
  run(input: ListInput<z.output<P>, z.output<Q>, A>): Answer<Page<z.input<R>>>
}

export interface FileSpec<P extends z.ZodObject, A extends Audience> extends OperationBase<P, A> {
  /** Media type for the OpenAPI description, for example `audio/wav`. */
  readonly contentType: string
  run(input: Input<z.output<P>, Record<string, never>, undefined, A>): Answer<FileReply>
}

export interface DownloadSpec<P extends z.ZodObject, Q extends z.ZodObject, A extends Audience>
  extends OperationBase<P, A> {
  /** Unknown parameters are always rejected. Values are strings. */
  readonly query?: Q
  readonly contentType: string
  run(input: Input<z.output<P>, z.output<Q>, undefined, A>): Download | Refusal | Promise<Download | Refusal>
}

export interface CsvSpec<Row, View, P extends z.ZodObject, Q extends z.ZodObject, A extends Audience>
  extends OperationBase<P, A> {
  /** Unknown parameters are always rejected. Values are strings. */
  readonly query?: Q
  readonly columns: readonly CsvColumn<View>[]
  /** Returns what the columns read. Called for one row at a time. */
  view(row: Row): View
  /** File name suggested to the client. */
  readonly fileName: string
  /** Returns the rows in batches. The next batch is read when the client has taken the previous one. */
  run(input: Input<z.output<P>, z.output<Q>, undefined, A>): Batches<Row> | Promise<Batches<Row>>
}

type Batches<Row> = AsyncIterable<readonly Row[]> | Refusal

export interface PageSpec<
  P extends z.ZodObject,
  Q extends z.ZodObject,
  R extends z.ZodType,
  A extends Audience,
> extends OperationBase<P, A> {
  /** Unknown parameters are always rejected. Values are strings. */
  readonly query?: Q
  /** Object inside `{ data }` for clients that prefer JSON, parsed before it is sent. */
  readonly result: R
  /** Returns the whole HTML document. It escapes every text. */
  html(result: z.output<R>): string
  run(input: Input<z.output<P>, z.output<Q>, undefined, A>): Answer<z.input<R>>
}

/** Audiences whose credential can be checked again while a stream is open. */
export type StreamAudience = 'session' | 'account' | 'staff' | 'address'

export interface EventStreamSpec<P extends z.ZodObject, Q extends z.ZodObject, A extends StreamAudience>
  extends OperationBase<P, A> {
  /** Unknown parameters are always rejected. Values are strings. */
  readonly query?: Q
  /** Schema of the data of each event, by its name. The server adds `end`. */
  readonly events: Readonly<Record<string, z.ZodType>>
  run(
    input: EventStreamInput<z.output<P>, z.output<Q>, A>,
  ): EventStream | Refusal | Promise<EventStream | Refusal>
}

export type EventStreamInput<P, Q, A extends Audience> = Input<P, Q, undefined, A> & {
  /** `Last-Event-ID` of a client that continues a stream: any text. Null at the start. */
  readonly lastEventId: string | null
}

export interface TextSpec<P extends z.ZodObject, A extends Audience> extends OperationBase<P, A> {
  readonly contentType: string
  run(input: Input<z.output<P>, Record<string, never>, undefined, A>): Answer<string>
}
