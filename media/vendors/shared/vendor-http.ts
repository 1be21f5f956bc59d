import { PROMPT_TOO_LONG } from '../../agent/vendor-ports.js'
import type { Clock, Timer } from '../../base/clock.js'
import { EngineError, errorText } from '../../base/errors.js'
import { cleanText, parseForeignJson } from '../../base/foreign-text.js'
import { isRecord } from './json.js'
import type { VendorConnections } from './vendor-connections.js'

/** Bounds of one HTTP exchange; exceeding a time aborts it with `vendor_stalled`. */
export interface ExchangeLimits {
  /** From the request to the response headers (ms). */
  readonly headerMs: number
  /** Between two chunks of the body (ms). */
  readonly idleMs: number
  readonly totalMs: number
  readonly maxBytes: number
}

export interface VendorRequest {
  readonly url: string
  readonly apiKey: string | null
  /** Headers, in lower case. With them the key is not sent as a bearer token. */
  readonly headers?: Readonly<Record<string, string>>
  /** JSON text unless the headers name another type, or a form for an upload. */
  readonly body: string | FormData
  readonly limits: ExchangeLimits
  readonly clock: Clock
  /** Absent: Node's own connections. */
  readonly connections?: VendorConnections | undefined
  /** Cancellation by the caller: the exchange rejects with `closed`. */
  readonly signal: AbortSignal
}

export interface VendorResponse {
  readonly contentType: string
  /**
   * Passes the body on chunk by chunk; `false` from `take` stops early. Rejects with EngineError when the
   * body stalls, breaks off or exceeds its limit.
   */
  read(take: (bytes: Uint8Array) => boolean): Promise<void>
  /** Discards an unread body. */
  discard(): void
}

/** A rejected request with its HTTP status. */
export class VendorHttpError extends EngineError {
  readonly status: number
  /** Parameter of the request that the error names (`error.param`), or null. */
  readonly parameter: string | null

  constructor(status: number, body: string) {
    const { code, retryable } = classify(status)
    const message = `the vendor answered ${status}: ${errorMessageOf(body).slice(0, 300)}`
    const context = saysTooLong(status, body) ? { status, reason: PROMPT_TOO_LONG } : { status }
    super(code, message, { retryable, context })
    this.status = status
    this.parameter = parameterOf(body)
  }
}

/** Longest retry delay (ms) that a caller would not notice; a longer `Retry-After` fails at once. */
const MAX_RETRY_WAIT_MS = 1000
const DEFAULT_RETRY_WAIT_MS = 250
const MAX_ERROR_BODY = 16_384
/** Time for a body to end after its last useful chunk (ms). */
const DRAIN_MS = 500

/**
 * POSTs to a vendor's HTTP endpoint. Retries once after 408, 409, 429, 5xx or a broken connection while
 * nothing was received. Otherwise rejects with EngineError `vendor_rejected`, `vendor_rate_limited`,
 * `vendor_failed`, `vendor_unreachable`, `vendor_stalled`, or `closed` after a cancellation.
 */
export async function post(request: VendorRequest): Promise<VendorResponse> {
  const started = request.clock.now()
  for (let attempt = 1; ; attempt++) {
    const watch = new Watch(request)
    let waitMs: number
    try {
      watch.arm(request.limits.headerMs)
      const response = await fetch(request.url, {
        method: 'POST',
        headers: headersOf(request),
        body: request.body,
        redirect: 'manual',
        signal: watch.signal,
        ...(request.connections === undefined ? {} : { dispatcher: request.connections.dispatcher }),
      })
      if (response.status >= 200 && response.status < 300) return body(response, request, watch, started)
      const refusal = new VendorHttpError(response.status, await refusalText(response, watch))
      waitMs = retryWait(response.headers)
      watch.close()
      if (!refusal.retryable || attempt > 1 || waitMs > MAX_RETRY_WAIT_MS) throw refusal
    } catch (error) {
      const failure = watch.explain(error)
      watch.close()
      if (failure.code !== 'vendor_unreachable' || attempt > 1) throw failure
      waitMs = 0
    }
    await pause(request, waitMs)
  }
}

function body(response: Response, request: VendorRequest, watch: Watch, started: number): VendorResponse {
  const { limits, clock } = request
  return {
    discard: () => watch.close(),
    contentType: response.headers.get('content-type')?.toLowerCase() ?? '',
    async read(take) {
      let received = 0
      let rest: Promise<void> | null = null
      const reader = response.body?.getReader()
      try {
        while (reader !== undefined) {
          const left = limits.totalMs - (clock.now() - started)
          watch.arm(Math.max(0, Math.min(limits.idleMs, left)))
          const { done, value } = await reader.read()
          if (done) break
          received += value.length
          if (received > limits.maxBytes) {
            throw new EngineError('vendor_failed', "the vendor's response is too large", {
              context: { received },
            })
          }
          if (!take(value)) {
            rest = drain(reader, watch)
            break
          }
        }
      } catch (error) {
        throw watch.explain(error)
      } finally {
        if (rest === null) watch.close()
      }
    },
  }
}

/** Reads the rest of a body, so that its connection can serve the next request. */
async function drain(reader: ReadableStreamDefaultReader<Uint8Array>, watch: Watch): Promise<void> {
  watch.arm(DRAIN_MS)
  try {
    while (!(await reader.read()).done);
  } catch {
    // A lost connection only costs a new one.
  } finally {
    watch.close()
  }
}

/** Deadline and cancellation of one attempt, combined in one signal. */
class Watch {
  readonly #clock: Clock
  readonly #outer: AbortSignal
  readonly #controller = new AbortController()
  #timer: Timer | null = null
  #stalled = false

  constructor(request: VendorRequest) {
    this.#clock = request.clock
    this.#outer = request.signal
    if (this.#outer.aborted) this.#controller.abort()
    else this.#outer.addEventListener('abort', this.#cancel, { once: true })
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  arm(ms: number): void {
    this.#timer?.cancel()
    this.#timer = this.#clock.after(ms, () => {
      this.#stalled = true
      this.#controller.abort()
    })
  }

  /** Converts an exception of this attempt to an EngineError. */
  explain(error: unknown): EngineError {
    if (error instanceof EngineError) return error
    if (this.#outer.aborted) return new EngineError('closed', 'the request was cancelled')
    if (this.#stalled) {
      return new EngineError('vendor_stalled', 'the vendor did not answer in time', { retryable: true })
    }
    // fetch reports "fetch failed" and keeps the reason in `cause`; a body that breaks off reports
    // "terminated".
    const cause = error instanceof Error && error.cause !== undefined ? error.cause : error
    const midway = error instanceof Error && error.message === 'terminated'
    return new EngineError(
      midway ? 'vendor_failed' : 'vendor_unreachable',
      midway
        ? 'the vendor closed the connection before it had finished'
        : `the vendor cannot be reached: ${errorText(cause)}`,
      { retryable: true, cause: error },
    )
  }

  /** Aborts the rest of the exchange, which frees its socket. Idempotent. */
  close(): void {
    this.#timer?.cancel()
    this.#timer = null
    this.#outer.removeEventListener('abort', this.#cancel)
    this.#controller.abort()
  }

  readonly #cancel = (): void => this.#controller.abort()
}

function headersOf(request: VendorRequest): Record<string, string> {
  const headers: Record<string, string> = { ...request.headers }
  if (request.apiKey !== null && request.headers === undefined)
    headers.authorization = `Bearer ${request.apiKey}`
  // A form sets its own content type with the boundary.
  if (typeof request.body === 'string') headers['content-type'] ??= 'application/json'
  return headers
}

function classify(status: number): { code: EngineError['code']; retryable: boolean } {
  if (status === 429) return { code: 'vendor_rate_limited', retryable: true }
  if (status === 408 || status === 409 || status >= 500) return { code: 'vendor_failed', retryable: true }
  return { code: 'vendor_rejected', retryable: false }
}

/** Returns the vendor's error text, bounded: `{"error":{"message":…}}` or any other body. */
async function refusalText(response: Response, watch: Watch): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  const reader = response.body?.getReader()
  while (reader !== undefined && text.length < MAX_ERROR_BODY) {
    const { done, value } = await reader.read().catch((error: unknown) => {
      // The status is sufficient; only a stall or a cancellation takes precedence.
      if (watch.signal.aborted) throw error
      return { done: true, value: undefined }
    })
    if (done || value === undefined) break
    text += decoder.decode(value, { stream: true })
  }
  return text
}

/** Phrases of OpenAI, vLLM, llama.cpp and others; they share no error code. */
const TOO_LONG =
  /context[_ ](length|window|size)|maximum context|prompt is too long|input is too long|too many (input )?tokens/i

function saysTooLong(status: number, body: string): boolean {
  return (status === 400 || status === 413 || status === 422) && TOO_LONG.test(body)
}

/** Returns the message of an error body or error event, or the whole text when it has another shape. */
export function errorMessageOf(body: string): string {
  const text = cleanText(body)
  try {
    const parsed = parseForeignJson(text)
    if (typeof parsed !== 'object' || parsed === null) return text
    // `detail` is FastAPI's.
    const error = 'error' in parsed ? parsed.error : 'detail' in parsed ? parsed.detail : parsed
    if (typeof error === 'string') return error
    if (
      typeof error === 'object' &&
      error !== null &&
      'message' in error &&
      typeof error.message === 'string'
    ) {
      return error.message
    }
    return text
  } catch {
    return text
  }
}

function parameterOf(body: string): string | null {
  try {
    const parsed = parseForeignJson(cleanText(body))
    const error = isRecord(parsed) ? parsed.error : null
    return isRecord(error) && typeof error.param === 'string' ? error.param : null
  } catch {
    return null
  }
}

function retryWait(headers: Headers): number {
  const ms = Number(headers.get('retry-after-ms') ?? Number.NaN)
  if (Number.isFinite(ms) && ms >= 0) return ms
  const after = headers.get('retry-after')
  if (after === null) return DEFAULT_RETRY_WAIT_MS
  const seconds = Number(after)
  // The other form is a date, at least seconds away, which is too late for a call.
  return Number.isFinite(seconds) && seconds >= 0 ? seconds * 1000 : Number.POSITIVE_INFINITY
}

function pause({ clock, signal }: VendorRequest, ms: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      timer.cancel()
      reject(new EngineError('closed', 'the request was cancelled'))
    }
    const timer = clock.after(ms, () => {
      signal.removeEventListener('abort', stop)
      resolve()
    })
    if (signal.aborted) stop()
    else signal.addEventListener('abort', stop, { once: true })
  })
}

/** Joins base URL and path with exactly one slash. */
export function joinUrl(baseUrl: string, path: string): string {
  return `${baseUrl.replace(/\/{1,16}$/, '')}/${path}`
}
