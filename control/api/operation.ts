import type { z } from 'zod'
import { encodeCsv } from '../base/csv.js'
import type { AddressPurpose } from '../base/signed-address.js'
import type { Trx } from '../db/database.js'
import type { Role } from '../db/tables/identity.js'
import type { AddressActor, AnyActor, Audience, Environment, Scope, SignedActor } from './actor.js'
import type { ReceivedUploadRule } from './content.js'
import type { Deps } from './deps.js'
import { END_EVENT, EndEvent } from './event-stream.js'
import type {
  CsvSpec,
  DownloadSpec,
  EventStreamSpec,
  FileSpec,
  ListSpec,
  Method,
  ObjectReplySpec,
  OperationBase,
  OperationSpec,
  PageSpec,
  StreamAudience,
  TextSpec,
  UploadSpec,
} from './operation-spec.js'
import type { PageRequest } from './pagination.js'
import { type ErrorCode, isRefusal } from './problem.js'
import type { SchemeOf, SignatureScheme } from './signature-scheme.js'

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
  readonly upload: ReceivedUploadRule | null
  readonly result: z.ZodType | null
  /** `page`: HTML, or `data` for clients that prefer JSON. */
  readonly reply: 'data' | 'bare' | 'empty' | 'list' | 'page' | 'file' | 'download' | 'text' | 'events'
  /** Renders a parsed result of a `page` as HTML. */
  readonly html: ((result: unknown) => string) | null
  /** Schema of an entry of `meta.warnings`. */
  readonly warning: z.ZodType | null
  /** Header row of a CSV download. */
  readonly csvColumns: readonly string[] | null
  /** Schema of the data of each event of a stream, by the name of the event. */
  readonly events: Readonly<Record<string, z.ZodType>> | null
  readonly contentType: string
  readonly status: number
  /** An object that is there already is answered with 200 instead of `status`. */
  readonly mayExist: boolean
  readonly list: { readonly defaultLimit: number; readonly paged: boolean } | null
  readonly idempotent: 'accepted' | 'required' | null
  readonly bodyBytes: number
  /** Maximum number of members of objects and elements of arrays in a JSON body. */
  readonly bodyValues: number
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
  readonly keep: <T>(trx: Trx, answer: T) => Promise<T>
  readonly page: PageRequest | null
  readonly lastEventId: string | null
  readonly cookie: (name: string) => string | null
}

/** Default limits of a body: 1 MiB, and 10,000 members of objects and elements of arrays. */
const BODY_BYTES = 1024 * 1024
const BODY_VALUES = 10_000

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
    bodyValues: spec.limits?.bodyValues ?? BODY_VALUES,
    run: async (input) => spec.run(typed(input)),
  }
}

/** Audiences whose requests belong to an organization. Idempotency keys belong to one, too. */
const OF_ORGANIZATION: readonly Audience[] = ['key', 'session', 'address']

/**
 * Defines an operation that takes a body other than JSON, and returns one object or nothing. The handler reads
 * the body while it arrives. An upload of an organization accepts an idempotency key.
 */
export function uploadOperation<
  A extends Audience,
  P extends z.ZodObject = z.ZodObject<Record<string, never>>,
  Q extends z.ZodObject = z.ZodObject<Record<string, never>>,
  R extends z.ZodType = z.ZodUndefined,
>(spec: UploadSpec<P, Q, R, A>): Operation {
  return {
    ...objectReply(spec),
    idempotent: OF_ORGANIZATION.includes(spec.audience) ? 'accepted' : null,
    body: null,
    upload: {
      accepts: spec.accepts,
      maxBytes: spec.maxBytes,
      // A signed address takes a document; everything else takes a body like any other.
      tooLarge: spec.audience === 'address' ? 'document_too_large' : 'bad_request',
    },
    bodyBytes: spec.maxBytes,
    bodyValues: 0,
    run: async (input) => spec.run(typed(input)),
  }
}

/** Returns the common part of operations that return one object or nothing. */
function objectReply<P extends z.ZodObject, Q extends z.ZodObject, R extends z.ZodType, A extends Audience>(
  spec: ObjectReplySpec<P, Q, R, A>,
): Omit<Operation, 'body' | 'upload' | 'bodyBytes' | 'bodyValues' | 'run'> {
  return {
    ...erase(spec),
    method: spec.method,
    query: spec.query ?? null,
    result: spec.result ?? null,
    reply: spec.result === undefined ? 'empty' : spec.bare ? 'bare' : 'data',
    contentType: 'application/json',
    status: spec.status,
    mayExist: spec.mayExist ?? false,
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
    bodyValues: 0,
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
  View,
  A extends Audience,
  P extends z.ZodObject = z.ZodObject<Record<string, never>>,
  Q extends z.ZodObject = z.ZodObject<Record<string, never>>,
>(spec: CsvSpec<Row, View, P, Q, A>): Operation {
  const { columns, fileName, view } = spec
  return {
    ...plainGet({ ...spec, contentType: 'text/csv; charset=utf-8' }, spec.query ?? null),
    reply: 'download',
    csvColumns: columns.map(({ name }) => name),
    run: async (input) => {
      const batches = await spec.run(typed(input))
      return isRefusal(batches) ? batches : { fileName, content: encodeCsv(columns, batches, view) }
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

/**
 * Defines a GET operation that sends events while the client stays connected (HTML, 9.2). The server repeats the
 * check of the credential every 15 s, and ends the stream of a client that does not read.
 */
export function eventStreamOperation<
  A extends StreamAudience,
  P extends z.ZodObject = z.ZodObject<Record<string, never>>,
  Q extends z.ZodObject = z.ZodObject<Record<string, never>>,
>(spec: EventStreamSpec<P, Q, A>): Operation {
  return {
    ...plainGet({ ...spec, contentType: 'text/event-stream' }, spec.query ?? null),
    reply: 'events',
    events: { ...spec.events, [END_EVENT]: EndEvent },
    run: async (input) => spec.run(typed(input)),
  }
}

/** Returns the common part of GET operations that return one thing. */
function plainGet<P extends z.ZodObject, A extends Audience>(
  spec: OperationBase<P, A> & { readonly contentType: string },
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
    bodyValues: 0,
  }
}

function erase<P extends z.ZodObject, A extends Audience>(spec: OperationBase<P, A>) {
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
    mayExist: false,
    html: null,
    warning: null,
    csvColumns: null,
    events: null,
    fails: spec.fails,
  }
}

/** The server has parsed params, query and body with the schemas of the operation. */
function typed<T>(input: ErasedInput): T {
  return input as unknown as T
}
