import type { Deps } from '../api/deps.js'
import type { AnyActor, Operation } from '../api/operation.js'
import type { PageRequest } from '../api/pagination.js'
import { isRefusal, type Refusal, refuse } from '../api/problem.js'
import type { Json } from '../base/canonical-json.js'
import type { Admitted } from './admit.js'
import { type CursorScope, readCursor } from './cursor.js'
import type { Exchange } from './exchange.js'
import { isIdempotencyKey } from './idempotency.js'
import { hasBody, jsonBodyOf, readJsonBody } from './json-body.js'
import type { MountedOperation } from './routes.js'
import { readQuery, type ValidationIssue, validate } from './validate.js'

/** What a client sent, valid. */
export interface ValidInput {
  readonly params: unknown
  /** Without `limit` and `cursor` of a list. */
  readonly query: unknown
  readonly body: unknown
  /** The body before defaults were filled in; null without one. */
  readonly rawBody: Json
  readonly idempotencyKey: string | null
  readonly page: PageRequest | null
  /** What cursors of the answer are bound to; null when it has none. */
  readonly cursorScope: CursorScope | null
}

/** Reads and validates all a client sent; every issue is reported, not only the first. */
export async function readInput(
  deps: Deps,
  mounted: MountedOperation,
  { actor, body: readAlready }: Pick<Admitted, 'actor' | 'body'>,
  exchange: Exchange,
): Promise<ValidInput | Refusal> {
  const { operation } = mounted
  const { request, response } = exchange
  if (mounted.body === null && hasBody(request))
    return refuse('bad_request', `${request.method} takes no body.`)
  const body =
    mounted.body === null
      ? null
      : readAlready === null
        ? await readJsonBody(request, response, operation.bodyBytes)
        : jsonBodyOf(request, readAlready)
  if (isRefusal(body)) return body
  if (body === null && operation.body !== null && !operation.body.safeParse(undefined).success) {
    return refuse('bad_request', 'This operation needs a JSON body.')
  }
  const idempotencyKey = operation.idempotent === null ? undefined : request.header('idempotency-key')
  if (operation.idempotent === 'required' && idempotencyKey === undefined) {
    return refuse('bad_request', 'This operation needs an Idempotency-Key header.')
  }

  const params = validate(mounted.params, request.params, 'path')
  if (!params.ok && params.malformedId) return refuse('not_found', 'No such resource.')
  const sent = readQuery(queryText(request.originalUrl))
  const query = validate(mounted.query, sent.values, 'query')
  const parsed = mounted.body === null ? NO_BODY : validate(mounted.body, body?.json, 'body')
  const issues: ValidationIssue[] = [
    ...(params.ok ? [] : params.issues),
    ...sent.issues,
    ...(query.ok ? [] : query.issues),
    ...(parsed.ok ? [] : parsed.issues),
  ]
  if (idempotencyKey !== undefined && !isIdempotencyKey(idempotencyKey)) {
    issues.push({ path: 'header.idempotency-key', reason: 'must be 1 to 255 printable ASCII characters' })
  }
  if (!params.ok || !query.ok || !parsed.ok || issues.length > 0) return invalid(issues)

  const paging = readPaging(deps, operation, actor, query.value)
  if (isRefusal(paging)) return paging
  return {
    params: params.value,
    ...paging,
    body: parsed.value,
    // It came out of JSON.parse.
    rawBody: (body?.json ?? null) as Json,
    idempotencyKey: idempotencyKey ?? null,
  }
}

const NO_BODY = { ok: true, value: undefined } as const

function invalid(issues: readonly ValidationIssue[]): Refusal {
  return refuse('validation_error', 'The request is not valid; details.issues lists what to change.', {
    issues,
  })
}

function queryText(url: string): string {
  const mark = url.indexOf('?')
  return mark < 0 ? '' : url.slice(mark + 1)
}

type Paging = Pick<ValidInput, 'query' | 'page' | 'cursorScope'>

function readPaging(
  deps: Deps,
  operation: Operation,
  actor: AnyActor | null,
  query: unknown,
): Paging | Refusal {
  if (operation.list === null) return { query, page: null, cursorScope: null }
  if (!operation.list.paged) {
    return { query, page: { limit: Number.MAX_SAFE_INTEGER, after: null }, cursorScope: null }
  }
  // `querySchema` put limit and cursor in.
  const { limit, cursor, ...filters } = query as { limit: number; cursor?: string } & Record<string, Json>
  const pinned = actor !== null && (actor.kind === 'key' || actor.kind === 'session') ? actor : null
  const cursorScope: CursorScope = {
    organizationId: pinned?.organizationId ?? '',
    environment: pinned?.environment ?? '',
    operation: operation.id,
    filters,
  }
  if (cursor === undefined) return { query: filters, page: { limit, after: null }, cursorScope }
  const after = readCursor(deps.rootKey, cursorScope, cursor)
  if (after === null) {
    return invalid([{ path: 'query.cursor', reason: 'is not a cursor of this list with these filters' }])
  }
  return { query: filters, page: { limit, after }, cursorScope }
}
