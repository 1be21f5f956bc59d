import type { Readable } from 'node:stream'
import type { z } from 'zod'
import { type CsvColumn, encodeCsv } from '../base/csv.js'
import type { AddressPurpose } from '../base/signed-address.js'
import type { Role } from '../db/tables/identity.js'
import type { ByteRange } from '../objects/object-store.js'
import type { Download, Upload, UploadRule } from './content.js'
import type { Deps } from './deps.js'
import type { Page, PageRequest } from './pagination.js'
import { type ErrorCode, isRefusal, type Refusal } from './problem.js'
import type { SchemeOf, SignatureScheme } from './signature-scheme.js'

export type Environment = 'test' | 'live'
/** Each scope includes the previous ones. */
export type Scope = 'read' | 'write' | 'admin'

/**
 * Audience of an operation. `key`: an API key, or a session whose role has the scope. `session`: a
 * signed-in member of an organization. `account`: any signed-in user, including staff. `staff`: signed-in
 * staff of the service. `signed`: another service, by its signature. `address`: whoever has the signed
 * address. `operator`: the operator of this installation, by token. `public`: everyone.
 */
export type Audience = 'key' | 'session' | 'account' | 'staff' | 'signed' | 'address' | 'operator' | 'public'

/** An API key. All data it accesses belongs to its organization and environment. */
export interface KeyActor {
  readonly kind: 'key'
  readonly keyId: string
  readonly organizationId: string
  readonly environment: Environment
  /** Effective scopes: the scopes of the key, limited by the current role of its creator. */
  readonly scopes: readonly Scope[]
}

/** A signed-in user who acts for one organization in one environment. */
export interface SessionActor {
  readonly kind: 'session'
  readonly sessionId: string
  readonly userId: string
  readonly organizationId: string
  readonly environment: Environment
  readonly role: Role
  /** Scopes that the role has. */
  readonly scopes: readonly Scope[]
}

/** A signed-in user, independent of organizations. */
export interface AccountActor {
  readonly kind: 'account'
  readonly sessionId: string
  /** Latest end of the session (Unix ms). */
  readonly sessionEndsAt: number
  readonly userId: string
  readonly staff: boolean
}

/** A signed-in member of the staff of the service. */
export interface StaffActor {
  readonly kind: 'staff'
  readonly sessionId: string
  readonly userId: string
}

/** Another service, identified by its signature. */
export interface SignedActor {
  readonly kind: 'signed'
  /** True for a request that was accepted before. Only schemes that pass repetitions set it. */
  readonly repeated: boolean
}

/** A signed address. Its holder may do one thing until the address expires. */
export interface AddressActor {
  readonly kind: 'address'
  /** What the address was made for, for example the id of an upload. */
  readonly subject: string
  /** Unix ms. */
  readonly expiresAt: number
}

/** A caller that acts for an organization. */
export type Actor = KeyActor | SessionActor
/** A caller with a name for the audit log. */
export type AnyActor = Actor | AccountActor | StaffActor

interface Actors {
  readonly key: Actor
  readonly session: SessionActor
  readonly account: AccountActor
  readonly staff: StaffActor
  readonly signed: SignedActor
  readonly address: AddressActor
  readonly operator: null
  readonly public: null
}

export type ActorOf<A extends Audience> = Actors[A]

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
   * Id that is the same for every retry of the same request, even after a crash. Store it under a unique
   * key with the change, and return the existing resource if it is there already. Null without an
   * `Idempotency-Key` header.
   */
  readonly idempotencyId: string | null
  /** Returns the value of a cookie of the request, or null. */
  readonly cookie: (name: string) => string | null
}

export type ListInput<P, Q, A extends Audience> = Input<P, Q, undefined, A> & { readonly page: PageRequest }

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

type Outcome<T> = T | JsonText | ResultWithHeaders<T | JsonText> | Refusal
type Answer<T> = Outcome<T> | Promise<Outcome<T>>

interface Base<P extends z.ZodObject, A extends Audience> {
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

interface ObjectReplySpec<
  P extends z.ZodObject,
  Q extends z.ZodObject,
  R extends z.ZodType,
  A extends Audience,
> extends Base<P, A> {
  readonly method: Method
  /** Unknown parameters are always rejected. Values are strings. */
  readonly query?: Q
  /** Object inside `{ data }`, parsed before it is sent. Missing only with status 204. */
  readonly result?: R
  readonly status: 200 | 201 | 202 | 204
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
  readonly limits?: { readonly bodyBytes: number }
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
> extends Base<P, A> {
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

export interface FileSpec<P extends z.ZodObject, A extends Audience> extends Base<P, A> {
  /** Media type for the OpenAPI description, for example `audio/wav`. */
  readonly contentType: string
  run(input: Input<z.output<P>, Record<string, never>, undefined, A>): Answer<FileReply>
}

export interface DownloadSpec<P extends z.ZodObject, Q extends z.ZodObject, A extends Audience>
  extends Base<P, A> {
  /** Unknown parameters are always rejected. Values are strings. */
  readonly query?: Q
  readonly contentType: string
  run(input: Input<z.output<P>, z.output<Q>, undefined, A>): Download | Refusal | Promise<Download | Refusal>
}

export interface CsvSpec<Row, P extends z.ZodObject, Q extends z.ZodObject, A extends Audience>
  extends Base<P, A> {
  /** Unknown parameters are always rejected. Values are strings. */
  readonly query?: Q
  readonly columns: readonly CsvColumn<Row>[]
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
> extends Base<P, A> {
  /** Unknown parameters are always rejected. Values are strings. */
  readonly query?: Q
  /** Object inside `{ data }` for clients that prefer JSON, parsed before it is sent. */
  readonly result: R
  /** Returns the whole HTML document. It escapes every text. */
  html(result: z.output<R>): string
  run(input: Input<z.output<P>, z.output<Q>, undefined, A>): Answer<z.input<R>>
}

export interface TextSpec<P extends z.ZodObject, A extends Audience> extends Base<P, A> {
  readonly contentType: string
  run(input: Input<z.output<P>, Record<string, never>, undefined, A>): Answer<string>
}

/** An operation without its type parameters, used for routing, checks and the OpenAPI description. */
export interface Operation {
  readonly id: string
  readonly method: Method
  readonly path: string
  readonly tag: string
  readonly summary: string
  readonly description: string | null
  readonly audience: Audience
  readonly scope: Scope | null
  readonly roles: readonly Role[] | null
  readonly environment: Environment | null
  readonly perMinute: number | null
  readonly signature: SignatureScheme | SchemeOf | null
  readonly address: AddressPurpose | null
  readonly params: z.ZodObject | null
  readonly query: z.ZodObject | null
  readonly body: z.ZodType | null
  /** Rule of a body that is not JSON. */
  readonly upload: UploadRule | null
  readonly result: z.ZodType | null
  /** `page`: HTML, or `data` for clients that prefer JSON. */
  readonly reply: 'data' | 'bare' | 'empty' | 'list' | 'page' | 'file' | 'download' | 'text'
  /** Renders a parsed result of a `page` as HTML. */
  readonly html: ((result: unknown) => string) | null
  /** Schema of an entry of `meta.warnings`. */
  readonly warning: z.ZodType | null
  /** Header row of a CSV download. */
  readonly csvColumns: readonly string[] | null
  readonly contentType: string
  readonly status: number
  readonly list: { readonly defaultLimit: number; readonly paged: boolean } | null
  readonly idempotent: 'accepted' | 'required' | null
  readonly bodyBytes: number
  readonly fails: readonly ErrorCode[]
  run(input: ErasedInput): Promise<unknown>
}

export interface ErasedInput {
  readonly params: unknown
  readonly query: unknown
  readonly body: unknown
  readonly actor: AnyActor | SignedActor | AddressActor | null
  readonly deps: Deps
  readonly requestId: string
  readonly idempotencyId: string | null
  readonly page: PageRequest | null
  readonly cookie: (name: string) => string | null
}

/** Default limit of the body: 1 MiB. */
const BODY_BYTES = 1024 * 1024

/** Defines an operation that takes JSON or nothing, and returns one object or nothing. */
export function operation<
  A extends Audience,
  P extends z.ZodObject = z.ZodObject<Record<string, never>>,
  Q extends z.ZodObject = z.ZodObject<Record<string, never>>,
  B extends z.ZodType = z.ZodUndefined,
  R extends z.ZodType = z.ZodUndefined,
>(spec: OperationSpec<P, Q, B, R, A>): Operation {
  return {
    ...objectReply(spec),
    body: spec.body ?? null,
    upload: null,
    bodyBytes: spec.limits?.bodyBytes ?? BODY_BYTES,
    run: async (input) => spec.run(typed(input)),
  }
}

/**
 * Defines an operation that takes a body other than JSON, and returns one object or nothing. The handler reads
 * the body while it arrives.
 */
export function uploadOperation<
  A extends Audience,
  P extends z.ZodObject = z.ZodObject<Record<string, never>>,
  Q extends z.ZodObject = z.ZodObject<Record<string, never>>,
  R extends z.ZodType = z.ZodUndefined,
>(spec: UploadSpec<P, Q, R, A>): Operation {
  return {
    ...objectReply(spec),
    body: null,
    upload: { accepts: spec.accepts, maxBytes: spec.maxBytes },
    bodyBytes: spec.maxBytes,
    run: async (input) => spec.run(typed(input)),
  }
}

/** Returns the common part of operations that return one object or nothing. */
function objectReply<P extends z.ZodObject, Q extends z.ZodObject, R extends z.ZodType, A extends Audience>(
  spec: ObjectReplySpec<P, Q, R, A>,
): Omit<Operation, 'body' | 'upload' | 'bodyBytes' | 'run'> {
  return {
    ...erase(spec),
    method: spec.method,
    query: spec.query ?? null,
    result: spec.result ?? null,
    reply: spec.result === undefined ? 'empty' : spec.bare ? 'bare' : 'data',
    contentType: 'application/json',
    status: spec.status,
    list: null,
    idempotent: spec.idempotent ?? null,
    warning: spec.warning ?? null,
  }
}

/** Defines a GET operation that returns a page of objects. */
export function listOperation<
  A extends Audience,
  R extends z.ZodType,
  P extends z.ZodObject = z.ZodObject<Record<string, never>>,
  Q extends z.ZodObject = z.ZodObject<Record<string, never>>,
>(spec: ListSpec<P, Q, R, A>): Operation {
  return {
    ...erase(spec),
    method: 'get',
    query: spec.query ?? null,
    body: null,
    upload: null,
    result: spec.result,
    reply: 'list',
    contentType: 'application/json',
    status: 200,
    list: { defaultLimit: spec.defaultLimit ?? 25, paged: spec.paged ?? true },
    warning: spec.warning ?? null,
    idempotent: null,
    bodyBytes: 0,
    run: async (input) => spec.run(typed(input)),
  }
}

/** Defines a GET operation that returns a file. */
export function fileOperation<A extends Audience, P extends z.ZodObject = z.ZodObject<Record<string, never>>>(
  spec: FileSpec<P, A>,
): Operation {
  return { ...plainGet(spec, null), reply: 'file', run: async (input) => spec.run(typed(input)) }
}

/** Defines a GET operation that returns text other than JSON. */
export function textOperation<A extends Audience, P extends z.ZodObject = z.ZodObject<Record<string, never>>>(
  spec: TextSpec<P, A>,
): Operation {
  return { ...plainGet(spec, null), reply: 'text', run: async (input) => spec.run(typed(input)) }
}

/** Defines a GET operation that returns bytes, for example a PDF document. */
export function downloadOperation<
  A extends Audience,
  P extends z.ZodObject = z.ZodObject<Record<string, never>>,
  Q extends z.ZodObject = z.ZodObject<Record<string, never>>,
>(spec: DownloadSpec<P, Q, A>): Operation {
  return {
    ...plainGet(spec, spec.query ?? null),
    reply: 'download',
    run: async (input) => spec.run(typed(input)),
  }
}

/** Defines a GET operation that returns rows as CSV, a batch at a time. */
export function csvOperation<
  Row,
  A extends Audience,
  P extends z.ZodObject = z.ZodObject<Record<string, never>>,
  Q extends z.ZodObject = z.ZodObject<Record<string, never>>,
>(spec: CsvSpec<Row, P, Q, A>): Operation {
  const { columns, fileName } = spec
  return {
    ...plainGet({ ...spec, contentType: 'text/csv; charset=utf-8' }, spec.query ?? null),
    reply: 'download',
    csvColumns: columns.map(({ name }) => name),
    run: async (input) => {
      const batches = await spec.run(typed(input))
      return isRefusal(batches) ? batches : { fileName, content: encodeCsv(columns, batches) }
    },
  }
}

/** Defines a GET operation that returns an HTML page to a browser and JSON to a program, by `Accept`. */
export function pageOperation<
  A extends Audience,
  R extends z.ZodType,
  P extends z.ZodObject = z.ZodObject<Record<string, never>>,
  Q extends z.ZodObject = z.ZodObject<Record<string, never>>,
>(spec: PageSpec<P, Q, R, A>): Operation {
  return {
    ...plainGet({ ...spec, contentType: 'application/json' }, spec.query ?? null),
    reply: 'page',
    result: spec.result,
    // The server parses the result with the schema first.
    html: (result) => spec.html(result as z.output<R>),
    run: async (input) => spec.run(typed(input)),
  }
}

/** Returns the common part of GET operations that return one thing. */
function plainGet<P extends z.ZodObject, A extends Audience>(
  spec: Base<P, A> & { readonly contentType: string },
  query: z.ZodObject | null,
): Omit<Operation, 'reply' | 'run'> {
  return {
    ...erase(spec),
    method: 'get',
    query,
    body: null,
    upload: null,
    result: null,
    contentType: spec.contentType,
    status: 200,
    list: null,
    idempotent: null,
    bodyBytes: 0,
  }
}

function erase<P extends z.ZodObject, A extends Audience>(spec: Base<P, A>) {
  return {
    id: spec.id,
    path: spec.path,
    tag: spec.tag,
    summary: spec.summary,
    description: spec.description ?? null,
    audience: spec.audience,
    scope: spec.scope ?? null,
    roles: spec.roles ?? null,
    environment: spec.environment ?? null,
    perMinute: spec.perMinute ?? null,
    signature: spec.signature ?? null,
    address: spec.address ?? null,
    params: spec.params ?? null,
    html: null,
    warning: null,
    csvColumns: null,
    fails: spec.fails,
  }
}

/** The server has parsed params, query and body with the schemas of the operation. */
function typed<T>(input: ErasedInput): T {
  return input as unknown as T
}
