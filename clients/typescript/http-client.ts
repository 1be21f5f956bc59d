import { ParleyError, readError } from './errors.js'

/** Address and credentials of the service, and options of the client. */
export interface ClientOptions {
  /** For example `https://parley.example.com`. */
  readonly baseUrl: string
  /** `svc_test_...` or `svc_live_...`. Absent: `fetch` adds what identifies the caller, for example a session. */
  readonly apiKey?: string
  /** Retries after the first attempt; default 4. */
  readonly retries?: number
  /** Limit of one attempt in ms; default 30,000. Of a file or an event stream, only until it begins. */
  readonly timeoutMs?: number
  /** Sent with every request. */
  readonly headers?: Readonly<Record<string, string>>
  readonly fetch?: typeof fetch
  /** Waits; replaced in tests. */
  readonly sleep?: (ms: number) => Promise<void>
}

export interface RequestOptions {
  /**
   * Makes repetitions safe where the operation takes one. Without it the client makes one up for
   * operations that do, so that its own retries are safe.
   */
  readonly idempotencyKey?: string
  readonly signal?: AbortSignal
  /** Continues an event stream after this event. */
  readonly lastEventId?: string
  readonly headers?: Readonly<Record<string, string>>
}

/** One page of a list. */
export interface Page<T, W = never> {
  readonly items: readonly T[]
  /** Parts that are missing from the list, with the reason. */
  readonly warnings: readonly W[]
  /** For the next page, with the same filters; null on the last. */
  readonly cursor: string | null
  readonly hasMore: boolean
  /** First page of some lists. */
  readonly total: number | null
  /** More than `total` match. */
  readonly totalCapped: boolean
}

export interface OperationSpec {
  readonly method: string
  readonly path: string
  readonly reply: 'data' | 'list' | 'bare' | 'empty' | 'file' | 'events'
  readonly idempotent?: true
  readonly upload?: true
  /** The response has `meta.warnings`. */
  readonly warnings?: true
}

/** Body of an upload. A `Blob` of a file (`openAsBlob` in Node.js) is read while it is sent. */
export type UploadBody = Blob | ArrayBuffer | Uint8Array<ArrayBuffer> | string

/** Path parameters by name, `query` and `body`, and `contentType` for an upload. */
export type OperationInput = Readonly<Record<string, unknown>>

const DEFAULT_RETRIES = 4
const DEFAULT_TIMEOUT_MS = 30_000
const FIRST_WAIT_MS = 500
const LAST_WAIT_MS = 20_000

/** Sends requests and repeats those for which `retryDelayMs` returns a delay. */
export class HttpClient {
  readonly #options: ClientOptions

  constructor(options: ClientOptions) {
    this.#options = { ...options, baseUrl: options.baseUrl.replace(/\/{1,16}$/, '') }
  }

  /**
   * Sends the request of an operation, with the repetitions that `retryDelayMs` allows. Rejects with ParleyError
   * when the service refuses, and with fetch's own error when the service cannot be reached.
   */
  protected async send<T>(spec: OperationSpec, input: OperationInput, options: RequestOptions): Promise<T> {
    const retries = this.#options.retries ?? DEFAULT_RETRIES
    const key = options.idempotencyKey ?? (spec.idempotent === true ? newKey() : undefined)
    const harmless = key !== undefined || ['GET', 'HEAD', 'PUT', 'DELETE'].includes(spec.method)
    for (let attempt = 0; ; attempt++) {
      try {
        return await this.#attempt<T>(spec, input, options, key)
      } catch (error) {
        options.signal?.throwIfAborted()
        const wait = attempt < retries ? retryDelayMs(error, attempt, harmless) : null
        if (wait === null) throw error
        await (this.#options.sleep ?? pause)(wait)
      }
    }
  }

  async #attempt<T>(
    spec: OperationSpec,
    input: OperationInput,
    options: RequestOptions,
    key: string | undefined,
  ): Promise<T> {
    const { timeoutMs = DEFAULT_TIMEOUT_MS } = this.#options
    const timeout = new AbortController()
    const timer = setTimeout(
      () => timeout.abort(new DOMException('The request took too long.', 'TimeoutError')),
      timeoutMs,
    )
    try {
      const response = await this.#request(spec, input, options, key, timeout.signal)
      // A file and an event stream are read by the caller, who takes any time.
      return (await readReply(spec, response)) as T
    } finally {
      clearTimeout(timer)
    }
  }

  async #request(
    spec: OperationSpec,
    input: OperationInput,
    options: RequestOptions,
    key: string | undefined,
    timeout: AbortSignal,
  ): Promise<Response> {
    const { baseUrl, apiKey } = this.#options
    const withBody = spec.method !== 'GET' && input.body !== undefined
    const { contentType = 'application/json' } = input
    const response = await (this.#options.fetch ?? fetch)(`${baseUrl}${address(spec.path, input)}`, {
      method: spec.method,
      headers: {
        ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
        ...(spec.reply === 'file'
          ? {}
          : { accept: spec.reply === 'events' ? 'text/event-stream' : 'application/json' }),
        ...(withBody ? { 'content-type': String(contentType) } : {}),
        ...(key === undefined ? {} : { 'idempotency-key': key }),
        ...(options.lastEventId === undefined ? {} : { 'last-event-id': options.lastEventId }),
        ...this.#options.headers,
        ...options.headers,
      },
      ...(withBody
        ? { body: spec.upload === true ? (input.body as UploadBody) : JSON.stringify(input.body) }
        : {}),
      signal: options.signal === undefined ? timeout : AbortSignal.any([options.signal, timeout]),
    })
    if (!response.ok) throw await readError(response)
    return response
  }
}

/** Every item of a list, page after page: `for await (const call of paginate(...))`. */
export async function* paginate<T>(
  page: (cursor: string | undefined) => Promise<Page<T, unknown>>,
): AsyncGenerator<T, void, undefined> {
  for (let cursor: string | undefined; ; ) {
    const { items, cursor: next, hasMore } = await page(cursor)
    yield* items
    if (!hasMore || next === null) return
    cursor = next
  }
}

async function readReply({ reply, warnings: warned }: OperationSpec, response: Response): Promise<unknown> {
  if (reply === 'file') return response
  if (reply === 'events') {
    // Most callers never open a stream, and pages load its code only when they do.
    const { EventStream } = await import('./event-stream.js')
    return new EventStream(response)
  }
  if (reply === 'empty') {
    await response.body?.cancel()
    return undefined
  }
  const body: unknown = await response.json()
  if (reply === 'bare') return body
  const { data, meta } = body as { data: unknown; meta?: Meta }
  const warnings = meta?.warnings ?? []
  if (reply === 'data') return warned === true ? { data, warnings } : data
  const { cursor = null, hasMore = false, total = null, totalCapped = false } = meta?.pagination ?? {}
  return { items: data, warnings, cursor, hasMore, total, totalCapped }
}

interface Meta {
  readonly pagination?: Pagination
  readonly warnings?: readonly unknown[]
}

interface Pagination {
  readonly cursor?: string | null
  readonly hasMore?: boolean
  readonly total?: number
  readonly totalCapped?: boolean
}

function address(path: string, input: OperationInput): string {
  const filled = path.replace(/\{(\w+)\}/g, (_all, name: string) => encodeURIComponent(String(input[name])))
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(input.query ?? {})) {
    if (value !== undefined && value !== null) query.append(name, String(value))
  }
  const text = query.toString()
  return text === '' ? filled : `${filled}?${text}`
}

/**
 * Returns the milliseconds before the next attempt; null when there shall be none. `rate_limited` and
 * `idempotency_key_in_use` had no effect and are always repeated. A request that may have had an effect (a server
 * error, a lost connection) is repeated only when that is harmless. Other refusals are final.
 */
export function retryDelayMs(error: unknown, attempt: number, harmless: boolean): number | null {
  const backoff = Math.min(LAST_WAIT_MS, FIRST_WAIT_MS * 2 ** attempt) * (0.75 + Math.random() / 2)
  if (!(error instanceof ParleyError)) return harmless ? backoff : null
  const asked = error.retryAfterSeconds === null ? 0 : error.retryAfterSeconds * 1000
  switch (error.code) {
    case 'rate_limited':
    case 'idempotency_key_in_use':
      return Math.max(asked, backoff)
    case 'provider_unavailable':
    case 'internal_error':
      return harmless ? Math.max(asked, backoff) : null
    default:
      // A code of tomorrow: its status still says whose fault it was.
      return error.status >= 500 && harmless ? Math.max(asked, backoff) : null
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

/** Returns a random key. `crypto.randomUUID` would fail on pages that a browser loaded over plain HTTP. */
export function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}
