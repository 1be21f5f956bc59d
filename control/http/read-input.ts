import type { Deps } from '../api/deps.js'
import type { Operation } from '../api/operation.js'
import type { PageRequest } from '../api/pagination.js'
import { isRefusal, type Refusal, refuse } from '../api/problem.js'
import type { Json } from '../base/canonical-json.js'
import type { Admitted } from './admit.js'
import { type CursorScope, readCursor } from './cursor.js'
import type { Exchange } from './exchange.js'
import { isIdempotencyKey } from './idempotency.js'
import { hasBody, jsonBodyOf, readJsonBody } from './json-body.js'
import type { MountedOperation } from './routes.js'
import { type OpenUpload, openUpload } from './upload.js'
import { listIssues, readQuery, type ValidationIssue, validate } from './validate.js'
import { validateInTurns } from './validate-in-turns.js'

/** Validated input of a request. */
export interface ValidInput {
  readonly params: unknown
  /** Filters, without `limit` and `cursor` of a list. */
  readonly query: unknown
  readonly body: unknown
  /** The body, if the operation takes an upload. It is also `body`. */
  readonly upload: OpenUpload | null
  /** Body before defaults are applied. Null without a body. */
  readonly rawBody: Json
  readonly idempotencyKey: string | null
  readonly page: PageRequest | null
  /** Scope of the cursors of a list. Null for other operations. */
  readonly cursorScope: CursorScope | null
}

/** Reads and validates the input of a request. Reports all issues, not only the first. */
export async function readInput(
  deps: Deps,
  mounted: MountedOperation,
  { actor, body: signedBody }: Pick<Admitted, 'actor' | 'body'>,
  exchange: Exchange,
): Promise<ValidInput | Refusal> {
  const { operation } = mounted
  const { request, response } = exchange
  if (mounted.body === null && operation.upload === null && hasBody(request))
    return refuse('bad_request', `Remove the body: ${request.method} requests to this path have none.`)
  const body =
    mounted.body === null
      ? null
      : signedBody === null
        ? await readJsonBody(request, response, operation, deps.clock)
        : await jsonBodyOf(request, signedBody, operation)
  if (isRefusal(body)) return body
  if (body === null && operation.body !== null && !operation.body.safeParse(undefined).success) {
    return refuse('bad_request', 'The JSON body is missing.')
  }
  const idempotencyKey = operation.idempotent === null ? undefined : request.header('idempotency-key')
  if (operation.idempotent === 'required' && idempotencyKey === undefined) {
    return refuse('bad_request', 'The header Idempotency-Key is missing.')
  }

  const params = validate(mounted.params, request.params, 'path')
  const rawQuery = readQuery(queryText(request.originalUrl))
  const query = validate(mounted.query, rawQuery.values, 'query')
  const bodyResult = mounted.body === null ? NO_BODY : await validateInTurns(mounted.body, body?.json)
  const malformedId = !params.ok && params.malformedId
  const issues: ValidationIssue[] = [
    ...(params.ok || malformedId ? [] : params.issues),
    ...rawQuery.issues,
    ...(query.ok ? [] : query.issues),
    ...(bodyResult.ok ? [] : bodyResult.issues),
  ]
  const unlisted = bodyResult.ok ? 0 : bodyResult.unlisted
  if (idempotencyKey !== undefined && !isIdempotencyKey(idempotencyKey)) {
    issues.push({ path: 'header.idempotency-key', reason: 'must be 1 to 255 printable ASCII characters' })
  }
  // The lookup of the resource comes after the validation of the rest.
  if (malformedId && issues.length === 0) return refuse('not_found', 'The resource does not exist.')
  if (!params.ok || !query.ok || !bodyResult.ok || issues.length > 0) return invalid(issues, unlisted)

  const paging = readPaging(deps, operation, actor, query.value)
  if (isRefusal(paging)) return paging
  const upload =
    operation.upload === null ? null : openUpload(request, operation.upload, signedBody, deps.clock)
  if (isRefusal(upload)) return upload
  return {
    params: params.value,
    ...paging,
    body: upload ?? bodyResult.value,
    upload,
    // The value comes from JSON.parse.
    rawBody: (body?.json ?? null) as Json,
    idempotencyKey: idempotencyKey ?? null,
  }
}

const NO_BODY = { ok: true, value: undefined } as const

/** Refuses a request. `unlisted`: further issues that are not in the list. */
function invalid(issues: readonly ValidationIssue[], unlisted = 0): Refusal {
  const details = listIssues(issues, unlisted)
  const listed =
    'issueCount' in details
      ? `details.issues lists ${details.issues.length} of ${details.issueCount} invalid fields.`
      : 'details.issues lists every invalid field.'
  return refuse('validation_error', `The request is invalid. ${listed}`, details)
}

function queryText(url: string): string {
  const mark = url.indexOf('?')
  return mark < 0 ? '' : url.slice(mark + 1)
}

type Paging = Pick<ValidInput, 'query' | 'page' | 'cursorScope'>

function readPaging(
  deps: Deps,
  operation: Operation,
  actor: Admitted['actor'],
  query: unknown,
): Paging | Refusal {
  if (operation.list === null) return { query, page: null, cursorScope: null }
  if (!operation.list.paged) {
    return { query, page: { limit: Number.MAX_SAFE_INTEGER, after: null }, cursorScope: null }
  }
  // `querySchema` adds limit and cursor.
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
    return invalid([
      {
        path: 'query.cursor',
        reason: 'is not a cursor of this list with these filters; start without a cursor',
      },
    ])
  }
  return { query: filters, page: { limit, after }, cursorScope }
}
