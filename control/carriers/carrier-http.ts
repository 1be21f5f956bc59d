import { type CarrierFailure, failed } from './carrier.js'

/** Longest answer that is read (bytes). */
const MAX_BYTES = 2 * 1024 * 1024
const REASON_MAX = 200

export interface HttpRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** Sent as JSON. */
  readonly json?: unknown
  /** Sent as a form, instead of `json`. */
  readonly form?: Readonly<Record<string, string>>
  readonly signal: AbortSignal
}

export interface HttpAnswer {
  readonly status: number
  /** Parsed JSON; undefined for an empty or unreadable body. */
  readonly body: unknown
  readonly retryAfterSeconds: number | null
}

/**
 * Sends one request to a carrier, without repetition and without following redirects. Returns null when there was no
 * complete answer: the request may have taken effect.
 */
export async function sendToCarrier(request: HttpRequest): Promise<HttpAnswer | null> {
  const { method, url, headers, json, form, signal } = request
  try {
    const response = await fetch(url, {
      method,
      headers: { accept: 'application/json', ...headers, ...(json === undefined ? {} : JSON_TYPE) },
      ...(json === undefined ? {} : { body: JSON.stringify(json) }),
      ...(form === undefined ? {} : { body: new URLSearchParams(form) }),
      redirect: 'manual',
      signal,
    })
    const text = await boundedText(response)
    if (text === null) return null
    const after = Number(response.headers.get('retry-after') ?? '')
    const retryAfterSeconds = Number.isFinite(after) && after > 0 ? Math.min(after, 86_400) : null
    return { status: response.status, body: parsed(text), retryAfterSeconds }
  } catch {
    // A refused connection, a reset and an abort leave the outcome open alike.
    return null
  }
}

const JSON_TYPE = { 'content-type': 'application/json' }

async function boundedText(response: Response): Promise<string | null> {
  if (response.body === null) return ''
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of response.body) {
    bytes += chunk.byteLength
    if (bytes > MAX_BYTES) return null
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Returns the value of the header `Authorization` for Basic authentication (RFC 7617). */
export function basic(user: string, password: string): string {
  return `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`
}

/** Returns true for an answer with a status of success. */
export function succeeded(answer: HttpAnswer | null): boolean {
  return answer !== null && answer.status >= 200 && answer.status < 300
}

/** Returns a member of a JSON object; undefined when the value is none or has no such member. */
export function memberOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && Object.hasOwn(value, name)
    ? (value as Record<string, unknown>)[name]
    : undefined
}

/**
 * Returns the failure of an answer that is not a success. `purchase` says that a missing answer or a server error
 * leaves open whether a number was bought.
 */
export function failureOf(
  answer: HttpAnswer | null,
  { purchase }: { readonly purchase: boolean },
): CarrierFailure {
  if (answer === null) return failed('provider_unavailable', 'no answer', { unknown: purchase })
  const { status, body, retryAfterSeconds } = answer
  const reason = reasonOf(body) ?? `HTTP ${status}`
  if (status === 429) {
    return failed(purchase ? 'provider_quota_exhausted' : 'provider_unavailable', reason, {
      retryAfterSeconds,
    })
  }
  if (status === 401 || status === 403 || status < 400 || status >= 500) {
    // Wrong credentials of the service are no mistake of the customer.
    return failed('provider_unavailable', status === 401 || status === 403 ? `HTTP ${status}` : reason, {
      unknown: purchase && status !== 401 && status !== 403,
    })
  }
  return failed('provider_rejected', reason)
}

function reasonOf(body: unknown): string | null {
  const error = memberOf(body, 'error')
  const rest = memberOf(memberOf(body, 'RestException'), 'Message')
  for (const text of [memberOf(body, 'message'), memberOf(error, 'message'), error, rest]) {
    if (typeof text === 'string' && text !== '') return text.replace(/\p{C}/gu, ' ').slice(0, REASON_MAX)
  }
  return null
}

/**
 * Converts a price in rupees, as decimal text or as a JSON number, to paise. Returns null for anything else, for
 * negative and for unreasonable prices.
 */
export function paiseOf(price: unknown): number | null {
  const text = typeof price === 'number' ? String(price) : price
  const match = typeof text === 'string' ? /^(\d{1,7})(?:\.(\d{1,10}))?$/.exec(text) : null
  if (match === null) return null
  const [, rupees = '0', fraction = ''] = match
  // A part of a paisa counts as a whole one.
  const rest = /[1-9]/.test(fraction.slice(2)) ? 1 : 0
  return Number(rupees) * 100 + Number(fraction.slice(0, 2).padEnd(2, '0')) + rest
}
