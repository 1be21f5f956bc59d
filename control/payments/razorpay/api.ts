import type { z } from 'zod'
import type { Clock } from '../../../media/base/clock.js'
import { EngineError, errorText } from '../../../media/base/errors.js'
import type { RazorpaySetting } from '../../config/payments.js'

/** Time limit of a request with its response (ms). */
const REQUEST_MS = 10_000
const MAX_ANSWER_BYTES = 4 * 1024 * 1024

interface RazorpayRequest<T extends z.ZodType> {
  readonly method: 'GET' | 'POST'
  /** Path below the base URL, with the query. */
  readonly path: string
  readonly body?: object
  readonly headers?: Readonly<Record<string, string>>
  /** Fields that are read. Others are ignored. */
  readonly answer: T
}

/** Sends requests to the REST API of Razorpay (https://razorpay.com/docs/api/). */
export type RazorpayApi = <T extends z.ZodType>(request: RazorpayRequest<T>) => Promise<z.output<T>>

/**
 * Returns the API with the keys of an account. A request throws EngineError `vendor_unreachable`, `vendor_stalled`,
 * `vendor_rate_limited`, `vendor_rejected` (4xx; `context.status`) or `vendor_failed` (5xx, or an answer without the
 * expected fields). Nothing is repeated: an order has no idempotency key.
 */
export function openRazorpayApi(setting: RazorpaySetting, clock: Clock): RazorpayApi {
  const { keyId, keySecret, url } = setting
  const authorization = `Basic ${Buffer.from(`${keyId}:${keySecret}`).toString('base64')}`
  return async ({ method, path, body, headers = {}, answer }) => {
    const abort = new AbortController()
    const timer = clock.after(REQUEST_MS, () => abort.abort())
    try {
      const response = await fetch(`${url}${path}`, {
        method,
        headers: {
          authorization,
          accept: 'application/json',
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        redirect: 'error',
        signal: abort.signal,
      })
      const text = await readText(response)
      if (!response.ok) throw refusalOf(response.status, text)
      const parsed = answer.safeParse(JSON.parse(text))
      if (parsed.success) return parsed.data
      throw new EngineError('vendor_failed', `the answer of Razorpay to ${method} ${path} has another shape`)
    } catch (error) {
      if (error instanceof EngineError) throw error
      if (abort.signal.aborted) {
        throw new EngineError('vendor_stalled', 'Razorpay did not answer in time', { retryable: true })
      }
      if (error instanceof SyntaxError)
        throw new EngineError('vendor_failed', 'the answer of Razorpay is not JSON')
      const cause = error instanceof Error && error.cause !== undefined ? error.cause : error
      throw new EngineError('vendor_unreachable', `Razorpay cannot be reached: ${errorText(cause)}`, {
        retryable: true,
        cause: error,
      })
    } finally {
      timer.cancel()
      abort.abort()
    }
  }
}

async function readText(response: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  const reader = response.body?.getReader()
  while (reader !== undefined) {
    const { done, value } = await reader.read()
    if (done) break
    bytes += value.length
    if (bytes > MAX_ANSWER_BYTES)
      throw new EngineError('vendor_failed', 'the answer of Razorpay is too large')
    chunks.push(value)
  }
  return Buffer.concat(chunks).toString('utf8')
}

/** `{"error":{"code":"BAD_REQUEST_ERROR","description":"..."}}` */
function refusalOf(status: number, text: string): EngineError {
  const description = /"description"\s*:\s*"((?:[^"\\]|\\.){0,200})/.exec(text)?.[1] ?? 'no description'
  const code = status === 429 ? 'vendor_rate_limited' : status >= 500 ? 'vendor_failed' : 'vendor_rejected'
  return new EngineError(code, `Razorpay answered ${status}: ${description}`, {
    retryable: status === 429 || status >= 500,
    context: { status },
  })
}
