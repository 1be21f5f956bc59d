import type { z } from 'zod'
import type { Role } from '../db/tables/identity.js'
import type { Deps } from './deps.js'
import type { Page, PageRequest } from './pagination.js'
import type { ErrorCode, Refusal } from './problem.js'

export type Environment = 'test' | 'live'
/** Each implies those before it. */
export type Scope = 'read' | 'write' | 'admin'

/**
 * Who may call. `key`: an API key, or a session whose role reaches the scope. `session`: a signed-in
 * member of an organization. `account`: anyone signed in, staff too. `staff`: a signed-in member of the
 * service's staff. `signed`: another service, by its signature. `operator`: who runs this installation,
 * by its token. `public`: anyone.
 */
export type Audience = 'key' | 'session' | 'account' | 'staff' | 'signed' | 'operator' | 'public'

/** An API key. Everything it reads is pinned to its organization and environment. */
export interface KeyActor {
  readonly kind: 'key'
  readonly keyId: string
  readonly organizationId: string
  readonly environment: Environment
  /** Effective scopes: stored ones under the creator's present role ceiling. */
  readonly scopes: readonly Scope[]
}

/** A person signed in, acting for one of their organizations in one environment. */
export interface SessionActor {
  readonly kind: 'session'
  readonly sessionId: string
  readonly userId: string
  readonly organizationId: string
  readonly environment: Environment
  readonly role: Role
  /** What the role reaches at most. */
  readonly scopes: readonly Scope[]
}

/** A person signed in, whatever organization they belong to, if any. */
export interface AccountActor {
  readonly kind: 'account'
  readonly sessionId: string
  /** Unix ms at which the session ends at the latest. */
  readonly sessionEndsAt: number
  readonly userId: string
  readonly staff: boolean
}

/** A member of the service's staff, signed in. */
export interface StaffActor {
  readonly kind: 'staff'
  readonly sessionId: string
  readonly userId: string
}

/** Who acts for an organization. */
export type Actor = KeyActor | SessionActor
export type AnyActor = Actor | AccountActor | StaffActor

interface Actors {
  readonly key: Actor
  readonly session: SessionActor
  readonly account: AccountActor
  readonly staff: StaffActor
  readonly signed: null
  readonly operator: null
  readonly public: null
}

export type ActorOf<A extends Audience> = Actors[A]

/** Whose signature a `signed` operation takes; each signer has its own secret. */
export type Signer = 'secret-scanning'

export type Method = 'get' | 'post' | 'put' | 'patch' | 'delete'

/** What a handler is given. It never sees the HTTP request or response. */
export interface Input<P, Q, B, A extends Audience> {
  readonly params: P
  readonly query: Q
  readonly body: B
  readonly actor: ActorOf<A>
  readonly deps: Deps
  readonly requestId: string
  /**
   * With an `Idempotency-Key`: an id that stays the same over every retry of the same request, also
   * after a crash. Store it under a unique key with the effect, and return the existing resource
   * when it is there already. Null without the header.
   */
  readonly idempotencyId: string | null
}

export type ListInput<P, Q, A extends Audience> = Input<P, Q, undefined, A> & { readonly page: PageRequest }

/** A file to send; byte ranges and conditional requests are handled by the server. */
export interface FileReply {
  /** Absolute path. */
  readonly path: string
  readonly contentType: string
  /** Suggested name for saving. */
  readonly fileName: string
}

const headed = Symbol('headed')

/** A result with response headers of its own, for example cookies. */
export interface ResultWithHeaders<T> {
  readonly [headed]: true
  readonly value: T
  readonly headers: ResponseHeaders
}

export type ResponseHeaders = Readonly<Record<string, string | readonly string[]>>

/** Sends `headers` with the result; not repeated when an idempotent answer is replayed. */
export function withHeaders<T>(value: T, headers: ResponseHeaders): ResultWithHeaders<T> {
  return { [headed]: true, value, headers }
}

export function hasOwnHeaders(outcome: unknown): outcome is ResultWithHeaders<unknown> {
  return typeof outcome === 'object' && outcome !== null && headed in outcome
}

type Outcome<T> = T | ResultWithHeaders<T> | Refusal
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
  /** Minimum scope; required for audience `key`. */
  readonly scope?: Scope
  /** Which members may call, for audience `session`; all of them unless given. Others get 403 `forbidden`. */
  readonly roles?: readonly Role[]
  /**
   * Only keys of this environment may call; others get 403 `forbidden`. What asks for a live key is
   * open to sessions in either environment (decisions 2.4).
   */
  readonly environment?: Environment
  /** Requests a minute from one address, for audience `public`; more get 429. */
  readonly perMinute?: number
  /** Required for audience `signed`. */
  readonly signer?: Signer
  /** One entry per `:name` of the path. A failing `idParam` answers 404, anything else 400. */
  readonly params?: P
  /** Codes the handler itself may refuse with; those of the common checks need not be listed. */
  readonly fails: readonly ErrorCode[]
}

export interface OperationSpec<
  P extends z.ZodObject,
  Q extends z.ZodObject,
  B extends z.ZodType,
  R extends z.ZodType,
  A extends Audience,
> extends Base<P, A> {
  readonly method: Method
  /** Unknown parameters are refused whatever the schema says. Values arrive as strings. */
  readonly query?: Q
  /** Use `z.strictObject` at every level: unknown fields are an error. */
  readonly body?: B
  /** The object inside `{ data }`, parsed before it is sent. Absent only with status 204. */
  readonly result?: R
  readonly status: 200 | 201 | 202 | 204
  /** The result is the whole body, without `{ data }`. */
  readonly bare?: true
  readonly idempotent?: 'accepted' | 'required'
  readonly limits?: { readonly bodyBytes: number }
  run(
    input: Input<z.output<P>, z.output<Q>, z.output<B>, A>,
  ): Answer<R extends z.ZodUndefined ? void : z.input<R>>
}

export interface ListSpec<
  P extends z.ZodObject,
  Q extends z.ZodObject,
  R extends z.ZodType,
  A extends Audience,
> extends Base<P, A> {
  /** Filters only; `limit` and `cursor` are added (unless `paged` is false). */
  readonly query?: Q
  /** One item. */
  readonly result: R
  /** Default 25. */
  readonly defaultLimit?: number
  /** False for short lists that always fit one page. */
  readonly paged?: false
  run(input: ListInput<z.output<P>, z.output<Q>, A>): Answer<Page<z.input<R>>>
}

export interface FileSpec<P extends z.ZodObject, A extends Audience> extends Base<P, A> {
  /** For the API description, for example `audio/wav`. */
  readonly contentType: string
  run(input: Input<z.output<P>, Record<string, never>, undefined, A>): Answer<FileReply>
}

export interface TextSpec<P extends z.ZodObject, A extends Audience> extends Base<P, A> {
  readonly contentType: string
  run(input: Input<z.output<P>, Record<string, never>, undefined, A>): Answer<string>
}

/** An operation with its types erased: what routing, checks and the API description work from. */
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
  readonly signer: Signer | null
  readonly params: z.ZodObject | null
  readonly query: z.ZodObject | null
  readonly body: z.ZodType | null
  readonly result: z.ZodType | null
  readonly reply: 'data' | 'bare' | 'empty' | 'list' | 'file' | 'text'
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
  readonly actor: AnyActor | null
  readonly deps: Deps
  readonly requestId: string
  readonly idempotencyId: string | null
  readonly page: PageRequest | null
}

/** 1 MiB, decisions 2.1. */
const BODY_BYTES = 1024 * 1024

/** An operation that answers one object, or nothing. */
export function operation<
  A extends Audience,
  P extends z.ZodObject = z.ZodObject<Record<string, never>>,
  Q extends z.ZodObject = z.ZodObject<Record<string, never>>,
  B extends z.ZodType = z.ZodUndefined,
  R extends z.ZodType = z.ZodUndefined,
>(spec: OperationSpec<P, Q, B, R, A>): Operation {
  return {
    ...erase(spec),
    method: spec.method,
    query: spec.query ?? null,
    body: spec.body ?? null,
    result: spec.result ?? null,
    reply: spec.result === undefined ? 'empty' : spec.bare ? 'bare' : 'data',
    contentType: 'application/json',
    status: spec.status,
    list: null,
    idempotent: spec.idempotent ?? null,
    bodyBytes: spec.limits?.bodyBytes ?? BODY_BYTES,
    run: async (input) => spec.run(typed(input)),
  }
}

/** A GET that answers a page of objects. */
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
    result: spec.result,
    reply: 'list',
    contentType: 'application/json',
    status: 200,
    list: { defaultLimit: spec.defaultLimit ?? 25, paged: spec.paged ?? true },
    idempotent: null,
    bodyBytes: 0,
    run: async (input) => spec.run(typed(input)),
  }
}

/** A GET that answers a file. */
export function fileOperation<A extends Audience, P extends z.ZodObject = z.ZodObject<Record<string, never>>>(
  spec: FileSpec<P, A>,
): Operation {
  return { ...plainGet(spec), reply: 'file', run: async (input) => spec.run(typed(input)) }
}

/** A GET that answers text that is not JSON. */
export function textOperation<A extends Audience, P extends z.ZodObject = z.ZodObject<Record<string, never>>>(
  spec: TextSpec<P, A>,
): Operation {
  return { ...plainGet(spec), reply: 'text', run: async (input) => spec.run(typed(input)) }
}

/** A GET whose answer is no JSON. */
function plainGet<P extends z.ZodObject, A extends Audience>(
  spec: Base<P, A> & { readonly contentType: string },
): Omit<Operation, 'reply' | 'run'> {
  return {
    ...erase(spec),
    method: 'get',
    query: null,
    body: null,
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
    signer: spec.signer ?? null,
    params: spec.params ?? null,
    fails: spec.fails,
  }
}

/** The server has parsed params, query and body with the operation's own schemas. */
function typed<T>(input: ErasedInput): T {
  return input as unknown as T
}
