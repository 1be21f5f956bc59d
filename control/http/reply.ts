import type { z } from 'zod'
import { EngineError } from '../../media/base/errors.js'
import { JsonText, type Operation, type ResponseHeaders } from '../api/operation.js'
import { COUNT_LIMIT, type Page } from '../api/pagination.js'
import { errorEnvelope, type Refusal } from '../api/problem.js'
import type { RootKey } from '../base/root-key.js'
import { type CursorScope, writeCursor } from './cursor.js'
import type { Exchange } from './exchange.js'

/** Rendered response. The idempotency store keeps and replays it. */
export interface RenderedResponse {
  readonly status: number
  readonly headers: ResponseHeaders
  readonly body: string
}

/**
 * Renders the result of a handler with the result schema of the operation, so that fields that are not in
 * the schema cannot leak. Throws EngineError `internal` if the result does not match the schema.
 */
export function renderResult(
  rootKey: RootKey,
  operation: Operation,
  outcome: unknown,
  cursorScope: CursorScope | null,
): RenderedResponse {
  const { status, result, reply, contentType } = operation
  if (reply === 'text') return { status, headers: { 'content-type': contentType }, body: String(outcome) }
  if (reply === 'empty' || result === null) return { status, headers: {}, body: '' }
  if (reply !== 'list') {
    if (outcome instanceof JsonText) return { status, headers: {}, body: outcome.text }
    const value = parseResult(operation, result, outcome)
    return { status, headers: {}, body: JSON.stringify(reply === 'bare' ? value : { data: value }) }
  }
  // `listOperation` guarantees this type.
  const page = outcome as Page<unknown>
  const data = page.items.map((item) => parseResult(operation, result, item))
  const cursor =
    page.next === null || cursorScope === null ? null : writeCursor(rootKey, cursorScope, page.next)
  const pagination = { cursor, hasMore: page.next !== null, ...totals(page.total) }
  return { status, headers: {}, body: JSON.stringify({ data, meta: { pagination } }) }
}

export function renderRefusal(refusal: Refusal, docsUrl: string, requestId: string): RenderedResponse {
  const body = JSON.stringify(errorEnvelope(refusal, docsUrl, requestId))
  return { status: refusal.status, headers: refusal.headers, body }
}

export function send(exchange: Exchange, rendered: RenderedResponse): void {
  const { response } = exchange
  response.status(rendered.status)
  for (const [name, value] of Object.entries(rendered.headers)) response.setHeader(name, value)
  // RFC 9110, 13.1.2. The operation sets the entity tag.
  if (rendered.status === 200 && response.hasHeader('etag') && exchange.request.fresh) {
    response.status(304).end()
    return
  }
  if (rendered.status === 401) response.setHeader('www-authenticate', exchange.challenge)
  if (rendered.status === 204) {
    response.end()
    return
  }
  const bytes = Buffer.from(rendered.body)
  // `response.set` of Express would add a charset, which application/json does not define.
  if (!response.hasHeader('content-type')) response.setHeader('content-type', 'application/json')
  response.setHeader('content-length', bytes.length)
  response.end(bytes)
}

export function sendRefusal(exchange: Exchange, refusal: Refusal): void {
  send(exchange, renderRefusal(refusal, exchange.docsUrl, exchange.requestId))
}

function parseResult(operation: Operation, schema: z.ZodType, value: unknown): unknown {
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  throw new EngineError('internal', 'a result does not fit the schema of its operation', {
    context: { operation: operation.id, paths: parsed.error.issues.map((issue) => issue.path.join('.')) },
  })
}

function totals(total: number | undefined): { total?: number; totalCapped?: true } {
  if (total === undefined) return {}
  return total > COUNT_LIMIT ? { total: COUNT_LIMIT, totalCapped: true } : { total }
}
