import { Readable } from 'node:stream'
import type { z } from 'zod'
import { EngineError } from '../../media/base/errors.js'
import type { Download } from '../api/content.js'
import type { Operation } from '../api/operation.js'
import { COUNT_LIMIT, type Page } from '../api/pagination.js'
import { errorEnvelope, type Refusal } from '../api/problem.js'
import { JsonText, type ResponseHeaders } from '../api/reply.js'
import { escapeHtml } from '../base/html.js'
import type { RootKey } from '../base/root-key.js'
import { type CursorScope, writeCursor } from './cursor.js'
import type { Exchange } from './exchange.js'
import { sendContent } from './send-content.js'

/** Rendered response. The idempotency store keeps and replays it. */
export interface RenderedResponse {
  readonly status: number
  readonly headers: ResponseHeaders
  readonly body: string
  /** The body compressed, for clients that accept it. */
  readonly gzip?: Uint8Array
}

/** How a result is rendered, apart from its operation. */
export interface Rendering {
  readonly rootKey: RootKey
  readonly cursorScope: CursorScope | null
  /** True for the HTML of a `page`. */
  readonly html: boolean
  readonly warnings: readonly unknown[]
}

/**
 * Renders the result of a handler with the result schema of the operation, so that fields that are not in
 * the schema cannot leak. Throws EngineError `internal` if the result does not match the schema.
 */
export function renderResult(operation: Operation, outcome: unknown, rendering: Rendering): RenderedResponse {
  const { status, result, reply, contentType, warning } = operation
  if (reply === 'text') return { status, headers: { 'content-type': contentType }, body: String(outcome) }
  if (reply === 'empty' || result === null) return { status, headers: {}, body: '' }
  const warnings =
    warning === null ? [] : rendering.warnings.map((one) => parseResult(operation, warning, one))
  const noted = warning === null ? {} : { warnings }
  if (reply !== 'list') {
    if (outcome instanceof JsonText) {
      const { text, gzip } = outcome
      return { status, headers: {}, body: text, ...(gzip === null ? {} : { gzip }) }
    }
    const value = parseResult(operation, result, outcome)
    if (rendering.html && operation.html !== null) {
      return { status, headers: { 'content-type': HTML }, body: operation.html(value) }
    }
    const data = { data: value, ...(warning === null ? {} : { meta: noted }) }
    return { status, headers: {}, body: JSON.stringify(reply === 'bare' ? value : data) }
  }
  // `listOperation` guarantees this type.
  const page = outcome as Page<unknown>
  const { rootKey, cursorScope } = rendering
  const data = page.items.map((item) => parseResult(operation, result, item))
  const cursor =
    page.next === null || cursorScope === null ? null : writeCursor(rootKey, cursorScope, page.next)
  const pagination = { cursor, hasMore: page.next !== null, ...totals(page.total) }
  return { status, headers: {}, body: JSON.stringify({ data, meta: { pagination, ...noted } }) }
}

const HTML = 'text/html; charset=utf-8'

export function renderRefusal(refusal: Refusal, exchange: Exchange): RenderedResponse {
  const { status, headers } = refusal
  if (exchange.html) {
    return { status, headers: { ...headers, 'content-type': HTML }, body: refusalPage(refusal, exchange) }
  }
  return {
    status,
    headers,
    body: JSON.stringify(errorEnvelope(refusal, exchange.docsUrl, exchange.requestId)),
  }
}

function refusalPage({ code, message }: Refusal, { requestId }: Exchange): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${escapeHtml(code)}</title>
<p>${escapeHtml(message)}</p>
<p><small>${escapeHtml(code)}, ${escapeHtml(requestId)}</small></p>
</html>
`
}

export function send(exchange: Exchange, rendered: RenderedResponse): void {
  const { response } = exchange
  response.status(rendered.status)
  for (const [name, value] of Object.entries(rendered.headers)) response.setHeader(name, value)
  const gzip = rendered.gzip === undefined ? null : chooseGzip(exchange, rendered.gzip)
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
  const bytes = gzip ?? Buffer.from(rendered.body)
  if (gzip !== null) response.setHeader('content-encoding', 'gzip')
  // `response.set` of Express would add a charset, which application/json does not define.
  if (!response.hasHeader('content-type')) response.setHeader('content-type', 'application/json')
  response.setHeader('content-length', bytes.length)
  response.end(bytes)
}

/**
 * Returns the compressed body if the client accepts it, else null. The entity tag of the compressed body is its own
 * (RFC 9110, 8.8.3.3).
 */
function chooseGzip({ request, response }: Exchange, gzip: Uint8Array): Uint8Array | null {
  response.vary('accept-encoding')
  if (request.acceptsEncodings('gzip', 'identity') !== 'gzip') return null
  const tag = response.getHeader('etag')
  if (typeof tag === 'string') response.setHeader('etag', tag.replace(/"$/, '-gzip"'))
  return gzip
}

export function sendRefusal(exchange: Exchange, refusal: Refusal): void {
  send(exchange, renderRefusal(refusal, exchange))
}

/** A client that takes nothing for this time (ms) is disconnected. */
const STALLED_MS = 60_000

/**
 * Sends content while it is made, as fast as the client takes it. The first chunk is made before the head is
 * sent, so that an error in it is an error response. A later error closes the connection. Resolves when the client
 * goes away.
 */
export async function sendDownload(
  { request, response }: Exchange,
  contentType: string,
  { fileName, content }: Download,
): Promise<void> {
  const sendHead = () => response.attachment(fileName).setHeader('content-type', contentType)
  if (content instanceof Uint8Array) {
    sendHead().setHeader('content-length', content.length).end(content)
    return
  }
  const chunks = content[Symbol.asyncIterator]()
  const first = await chunks.next()
  sendHead()
  if (request.method === 'HEAD') {
    await chunks.return?.()
    response.end()
    return
  }
  response.setTimeout(STALLED_MS, () => response.destroy())
  await sendContent(Readable.from(continued(first, chunks), { objectMode: false }), response)
}

async function* continued(
  first: IteratorResult<Uint8Array>,
  chunks: AsyncIterator<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  try {
    for (let next = first; next.done !== true; next = await chunks.next()) yield next.value
  } finally {
    await chunks.return?.()
  }
}

/** Returns the value as the schema shows it. Throws EngineError `internal` if it does not fit. */
export function parseResult(operation: Operation, schema: z.ZodType, value: unknown): unknown {
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
