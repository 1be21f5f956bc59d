import { type IncomingMessage, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import type { Clock } from '../../media/base/clock.js'
import { EngineError } from '../../media/base/errors.js'
import type { Egress } from '../net/egress.js'
import { type AttemptResult, retryAfterMs } from './retry-schedule.js'

/** Errors of failed attempts, as the delivery log shows them. */
export const ATTEMPT_ERRORS = [
  'timeout',
  'connection_failed',
  'tls_failed',
  'name_not_resolved',
  'address_refused',
  'redirect',
  'status',
  /** The service stopped during the attempt. Says nothing about the receiver. */
  'interrupted',
] as const
export type AttemptError = (typeof ATTEMPT_ERRORS)[number]

export interface Attempt {
  readonly result: AttemptResult
  readonly status: number | null
  readonly error: AttemptError | null
  readonly durationMs: number
}

/** Response timeout (ms). */
export const RESPONSE_MS = 10_000
/** Maximum size of a response body. The connection of a longer one is closed. The body is ignored. */
const MAX_ANSWER_BYTES = 64 * 1024

interface PostOptions {
  readonly egress: Egress
  readonly organizationId: string
  readonly clock: Clock
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly signal?: AbortSignal
}

/**
 * Sends one attempt to the URL of a customer: only to public addresses, resolved again for each attempt,
 * without following redirects, with one deadline for the whole attempt. Never throws.
 */
export async function postWebhook(options: PostOptions): Promise<Attempt> {
  const { clock } = options
  const startedAt = clock.now()
  const deadline = startedAt + RESPONSE_MS
  let answer = await once(options, deadline)
  // The receiver closed an idle connection just when it was reused, so it has not seen the request.
  if (answer.kind === 'stale') answer = await once(options, deadline)
  const durationMs = Math.round(clock.now() - startedAt)
  if (answer.kind === 'answered') {
    const { status } = answer
    const error: AttemptError | null =
      status >= 200 && status < 300 ? null : status >= 300 && status < 400 ? 'redirect' : 'status'
    const wait = retryAfterMs(answer.retryAfter, clock.wall())
    return { result: { kind: 'answered', status, retryAfterMs: wait }, status, error, durationMs }
  }
  const error = answer.kind === 'stale' ? 'connection_failed' : answer.error
  return { result: { kind: 'failed' }, status: null, error, durationMs }
}

type Answer =
  | { readonly kind: 'answered'; readonly status: number; readonly retryAfter: string | undefined }
  | { readonly kind: 'failed'; readonly error: AttemptError }
  | { readonly kind: 'stale' }

function once(options: PostOptions, deadline: number): Promise<Answer> {
  const { egress, organizationId, clock, headers, body, signal } = options
  let url: URL
  try {
    url = egress.permit(options.url, 'http')
  } catch (error) {
    return Promise.resolve({ kind: 'failed', error: errorOf(error) })
  }
  if (signal?.aborted === true) return Promise.resolve({ kind: 'failed', error: 'interrupted' })
  return new Promise((resolve) => {
    const secure = url.protocol === 'https:'
    const send = secure ? requestHttps : requestHttp
    const request = send(url, {
      method: 'POST',
      headers,
      agent: secure ? egress.https : egress.http,
      lookup: egress.lookupOf(organizationId),
    })
    let settled = false
    const settle = (answer: Answer): void => {
      if (settled) return
      settled = true
      timer.cancel()
      signal?.removeEventListener('abort', interrupted)
      resolve(answer)
    }
    const interrupted = (): void => {
      settle({ kind: 'failed', error: 'interrupted' })
      request.destroy()
    }
    const timer = clock.after(Math.max(0, deadline - clock.now()), () => {
      settle({ kind: 'failed', error: 'timeout' })
      request.destroy()
    })
    signal?.addEventListener('abort', interrupted, { once: true })
    // Never removed: a destroyed request may still report an error.
    request.on('error', (error) => {
      const stale = request.reusedSocket && 'code' in error && STALE.has(String(error.code))
      settle(stale ? { kind: 'stale' } : { kind: 'failed', error: errorOf(error) })
    })
    request.on('response', (response) => {
      discard(response, clock)
      const retryAfter = response.headers['retry-after']
      settle({ kind: 'answered', status: response.statusCode ?? 0, retryAfter })
    })
    request.end(body)
  })
}

const STALE = new Set(['ECONNRESET', 'EPIPE'])
const DISCARD_MS = 2_000

/**
 * Reads a short response completely, so that the connection can be reused. Closes the connection of a long
 * or slow one.
 */
function discard(response: IncomingMessage, clock: Clock): void {
  let bytes = 0
  const timer = clock.after(DISCARD_MS, () => response.destroy())
  response.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes > MAX_ANSWER_BYTES) response.destroy()
  })
  response.on('error', () => response.destroy())
  response.on('close', () => timer.cancel())
}

const NAME_ERRORS = new Set(['ENOTFOUND', 'EAI_AGAIN', 'EAI_FAIL', 'ENODATA'])

function errorOf(error: unknown): AttemptError {
  if (error instanceof EngineError && error.code === 'egress_refused') {
    return 'address_refused'
  }
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  if (NAME_ERRORS.has(code)) return 'name_not_resolved'
  const tls = /^(ERR_TLS|ERR_SSL|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_|EPROTO)/.test(code)
  return tls ? 'tls_failed' : 'connection_failed'
}
