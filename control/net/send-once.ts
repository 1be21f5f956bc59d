/*
 * HTTP requests to services that the operator has configured. URLs of customers go through `egress.ts`.
 */

/** Longest answer that is read (bytes). */
const MAX_BYTES = 2 * 1024 * 1024

export interface HttpRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** Sent as JSON. */
  readonly json?: unknown
  /** Sent as a form, instead of `json`. */
  readonly form?: Readonly<Record<string, string>>
  /** Reads the body of the answer; undefined if it cannot. JSON without it. */
  readonly read?: (text: string) => unknown
  readonly signal: AbortSignal
}

export interface HttpAnswer {
  readonly status: number
  /** The body that was read; undefined for an empty or unreadable one. */
  readonly body: unknown
  readonly retryAfterSeconds: number | null
}

/**
 * Sends one request, without repetition and without following redirects. Returns null when there was no
 * complete answer: the request may have taken effect.
 */
export async function sendOnce(request: HttpRequest): Promise<HttpAnswer | null> {
  const { method, url, headers, json, form, read = parsed, signal } = request
  try {
    const response = await fetch(url, {
      method,
      headers: { accept: 'application/json', ...headers, ...(json === undefined ? {} : JSON_TYPE) },
      ...(json === undefined ? {} : { body: JSON.stringify(json) }),
      ...(form === undefined ? {} : { body: new URLSearchParams(form) }),
      redirect: 'manual',
      signal,
    })
    const bytes = await boundedBytes(response)
    if (bytes === null) return null
    const after = Number(response.headers.get('retry-after') ?? '')
    const retryAfterSeconds = Number.isFinite(after) && after > 0 ? Math.min(after, 86_400) : null
    return { status: response.status, body: read(bytes.toString('utf8')), retryAfterSeconds }
  } catch {
    // A refused connection, a reset and an abort leave the outcome open alike.
    return null
  }
}

const JSON_TYPE = { 'content-type': 'application/json' }

/**
 * Posts bytes as `sendOnce` sends a request. Returns the status and the bytes of the answer, or null when there was
 * none.
 */
export async function postBytes(request: {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly signal: AbortSignal
}): Promise<{ readonly status: number; readonly bytes: Buffer } | null> {
  const { url, headers, bytes: body, signal } = request
  try {
    const response = await fetch(url, { method: 'POST', headers, body, redirect: 'manual', signal })
    const bytes = await boundedBytes(response)
    return bytes === null ? null : { status: response.status, bytes }
  } catch {
    return null // as above: the outcome is open
  }
}

async function boundedBytes(response: Response): Promise<Buffer | null> {
  if (response.body === null) return Buffer.alloc(0)
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of response.body) {
    bytes += chunk.byteLength
    if (bytes > MAX_BYTES) return null
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
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
