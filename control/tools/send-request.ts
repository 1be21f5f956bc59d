import { type IncomingMessage, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import type { HttpToolRequest } from '../../media/agent/agent-spec.js'
import type { Clock } from '../../media/base/clock.js'
import { EngineError } from '../../media/base/errors.js'
import { cleanText } from '../../media/base/foreign-text.js'
import type { Egress } from '../net/egress.js'
import { buildRequest, requestProblem, type ToolSecrets } from './http-request.js'

/** Maximum bytes read of a response. */
const MAX_BYTES = 64 * 1024
/** Maximum characters passed to the model. */
const MAX_RESULT = 8000
const MAX_ERROR = 500
const READABLE = /^(text\/|application\/([\w.+-]*\+)?(json|xml)|application\/x-www-form-urlencoded)/

/**
 * Sends the request of a tool once (it may not be repeatable), only to public addresses, without following
 * redirects, within the tool's `timeoutMs` in total. Resolves with the text for the model. Never rejects.
 */
export function sendToolRequest(options: {
  readonly egress: Egress
  readonly organizationId: string
  readonly clock: Clock
  readonly tool: HttpToolRequest
  readonly args: Readonly<Record<string, unknown>>
  readonly secrets: ToolSecrets
}): Promise<string> {
  const { egress, organizationId, clock, tool, args, secrets } = options
  const problem = requestProblem(tool, args)
  if (problem !== null) return Promise.resolve(problem)
  const request = buildRequest(tool, args, secrets)
  let url: URL
  try {
    url = egress.permit(request.url, 'http')
  } catch (error) {
    return Promise.resolve(errorResult(error))
  }
  return new Promise((resolve) => {
    const secure = url.protocol === 'https:'
    const bytes = request.body === null ? null : Buffer.from(request.body, 'utf8')
    const outgoing = (secure ? requestHttps : requestHttp)(url, {
      method: request.method,
      headers: { ...request.headers, ...(bytes === null ? {} : { 'content-length': String(bytes.length) }) },
      agent: secure ? egress.https : egress.http,
      lookup: egress.lookupOf(organizationId),
    })
    const timer = clock.after(tool.timeoutMs, () => {
      resolve('Failed: the other system did not answer in time. The request may have been carried out.')
      outgoing.destroy()
    })
    // Never removed: a destroyed request may still report an error.
    outgoing.on('error', (error) => {
      timer.cancel()
      resolve(errorResult(error))
    })
    outgoing.on('response', (response) => {
      read(response, (text) => {
        timer.cancel()
        resolve(text)
      })
    })
    outgoing.end(bytes ?? undefined)
  })
}

function read(response: IncomingMessage, done: (result: string) => void): void {
  const chunks: Buffer[] = []
  let size = 0
  let over = false
  const end = (cut: boolean): void => {
    if (over) return
    over = true
    done(cleanText(resultOf(response, Buffer.concat(chunks), cut)))
  }
  response.on('data', (chunk: Buffer) => {
    if (over) return
    chunks.push(size + chunk.length > MAX_BYTES ? chunk.subarray(0, MAX_BYTES - size) : chunk)
    size += chunk.length
    if (size <= MAX_BYTES) return
    end(true)
    response.destroy()
  })
  response.on('end', () => end(false))
  // A truncated response is passed on as far as it was received.
  response.on('error', () => end(true))
  response.on('close', () => end(true))
}

function resultOf(response: IncomingMessage, body: Buffer, cut: boolean): string {
  const status = response.statusCode ?? 0
  const type = response.headers['content-type'] ?? ''
  const readable = type === '' || READABLE.test(type)
  const text = readable ? new TextDecoder().decode(body).trim() : ''
  if (status >= 300 && status < 400) return `Failed: the other system redirected (${status}).`
  if (status < 200 || status >= 400) {
    return `Failed: the other system answered ${status}. ${shortened(text, MAX_ERROR, cut)}`.trim()
  }
  if (!readable) return `Done (${status}); the answer is ${type} and cannot be read out.`
  return text === '' ? `Done (${status}).` : shortened(text, MAX_RESULT, cut)
}

function shortened(text: string, most: number, cut: boolean): string {
  return text.length > most || cut ? `${text.slice(0, most)} ... (cut)` : text
}

const NAMES = new Set(['ENOTFOUND', 'EAI_AGAIN', 'EAI_FAIL', 'ENODATA'])

/** Must not contain the address or the credentials, because the model might repeat them. */
function errorResult(error: unknown): string {
  if (error instanceof EngineError && error.code === 'egress_refused') {
    return 'Failed: the address of this tool may not be used. Nothing was sent.'
  }
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  if (NAMES.has(code)) return 'Failed: the other system was not found. Nothing was sent.'
  return 'Failed: the other system could not be reached.'
}
