import type { Request } from 'express'
import { isRefusal, type Refusal, refuse } from '../api/problem.js'
import type { FileReply } from '../api/reply.js'
import type { Exchange } from './exchange.js'
import { sendRefusal } from './reply.js'
import { sendContent } from './send-content.js'

/**
 * Sends a file, with support for byte ranges and conditional requests (RFC 9110, 13 and 14). A request for
 * several ranges gets the whole file. Rejects only for internal errors.
 */
export async function sendFile(exchange: Exchange, file: FileReply): Promise<void> {
  const { request, response } = exchange
  const tag = `"${file.version}"`
  const modified = new Date(file.modifiedAt).toUTCString()
  if (!conditionsHold(request, tag, modified)) {
    return sendRefusal(exchange, refuse('precondition_failed', 'The file has another version.'))
  }
  response.set({ etag: tag, 'last-modified': modified, 'accept-ranges': 'bytes' })
  if (request.fresh) {
    response.status(304).end()
    return
  }
  const ranges = rangeHolds(request, tag, modified) ? request.range(file.bytes) : undefined
  if (ranges === -1) {
    response.set('content-range', `bytes */${file.bytes}`)
    return refuseFile(exchange, NO_SUCH_RANGE)
  }
  const [range, more] = Array.isArray(ranges) && ranges.type === 'bytes' ? ranges : []
  const part = more === undefined ? range : undefined
  const content = await file.open(part)
  if (isRefusal(content)) return refuseFile(exchange, content)
  response.attachment(file.fileName).set('content-type', file.contentType)
  const { start, end } = part ?? { start: 0, end: file.bytes - 1 }
  response.set('content-length', String(end - start + 1))
  if (part !== undefined) response.status(206).set('content-range', `bytes ${start}-${end}/${file.bytes}`)
  if (request.method === 'HEAD') {
    content.destroy()
    response.end()
    return
  }
  await sendContent(content, response)
}

const NO_SUCH_RANGE = refuse('range_not_satisfiable', 'The file has no bytes in the requested range.')

/** Sends a refusal without the headers that describe the file. */
function refuseFile(exchange: Exchange, refusal: Refusal): void {
  for (const name of ['etag', 'last-modified', 'accept-ranges']) exchange.response.removeHeader(name)
  sendRefusal(exchange, refusal)
}

/** Evaluates If-Match and If-Unmodified-Since (RFC 9110, 13.1.1 and 13.1.4). */
function conditionsHold(request: Request, tag: string, modified: string): boolean {
  const match = request.header('if-match')
  if (match !== undefined) return match === '*' || match.split(',').some((one) => one.trim() === tag)
  const since = Date.parse(request.header('if-unmodified-since') ?? '')
  return Number.isNaN(since) || Date.parse(modified) <= since
}

/** Evaluates If-Range (RFC 9110, 13.1.5). When it does not hold, the whole file is sent. */
function rangeHolds(request: Request, tag: string, modified: string): boolean {
  const condition = request.header('if-range')
  return condition === undefined || condition === tag || condition === modified
}
