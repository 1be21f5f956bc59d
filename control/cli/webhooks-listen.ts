import type { Clock } from '../../media/base/clock.js'
import { EngineError, errorText } from '../../media/base/errors.js'
import { openEgress } from '../net/egress.js'
import { postWebhook } from '../webhooks/delivery-attempt.js'
import { webhookHeaders } from '../webhooks/signature.js'

export interface ListenOptions {
  /** Base URL of the API, without a trailing slash. */
  readonly apiUrl: string
  readonly key: string
  /** URL to which events are forwarded. Any address is allowed, because it is the developer's own machine. */
  readonly forward: string
  /** Event types to forward. Null for all. */
  readonly events: readonly string[] | null
  /** Signs forwarded events, like the secret of an endpoint. */
  readonly secret: string
  readonly clock: Clock
  /** Prints one line per event and per error. */
  readonly print: (line: string) => void
  readonly signal: AbortSignal
}

interface EventLine {
  readonly id: string
  readonly type: string
  readonly createdAt: string
}

const POLL_MS = 1_000
const AFTER_FAILURE_MS = 5_000
/** Maximum delay between the time of an event and the commit that makes it visible (ms). */
const LOOK_BACK_MS = 60_000
const PAGE = 100

/**
 * Forwards new events of the environment of the key, oldest first, by polling the public event log once a
 * second. Runs until the signal is aborted. Throws EngineError `config_invalid` for a rejected key. Other
 * errors are printed and retried.
 */
export async function forwardEvents(options: ListenOptions): Promise<void> {
  const { clock, signal, print: say } = options
  const egress = openEgress({ allowPrivate: true })
  /** Events that existed at start or are processed, with their times. */
  const seen = new Map<string, number>()
  let newest: number | null = null

  /** Returns new events, oldest first. */
  async function readNewEvents(): Promise<readonly EventLine[]> {
    const found = new Map<string, EventLine>()
    const since = newest === null ? Number.NEGATIVE_INFINITY : newest - LOOK_BACK_MS
    for (let cursor = ''; ; ) {
      const page = await requestApi(options, `/v1/events?limit=${PAGE}${cursor}`)
      for (const line of page.data as readonly EventLine[]) {
        // Older events were processed before; their ids are forgotten.
        if (Date.parse(line.createdAt) >= since && !seen.has(line.id)) found.set(line.id, line)
      }
      const last = (page.data as readonly EventLine[]).at(-1)
      const next = page.meta?.pagination.cursor ?? null
      // The first poll needs only as much as later polls look back on.
      const from = newest === null ? latest(found) - LOOK_BACK_MS : since
      if (last === undefined || next === null || Date.parse(last.createdAt) < from) break
      cursor = `&cursor=${next}`
    }
    return [...found.values()].reverse()
  }

  function remember(line: EventLine): void {
    const at = Date.parse(line.createdAt)
    seen.set(line.id, at)
    newest = Math.max(newest ?? at, at)
  }

  async function forward(line: EventLine): Promise<void> {
    const { data } = await requestApi(options, `/v1/events/${line.id}`)
    const body = JSON.stringify((data as { readonly payload: unknown }).payload)
    const at = Math.floor(clock.wall() / 1000)
    const stamp = { type: line.type, eventId: line.id, attempt: 1, at }
    const headers = webhookHeaders(body, [options.secret], stamp)
    const attempt = await postWebhook({
      egress,
      organizationId: 'cli',
      clock,
      url: options.forward,
      headers,
      body,
      signal,
    })
    say(
      `${line.createdAt}  ${line.type}  ${line.id}  -> ${attempt.status ?? attempt.error} (${attempt.durationMs} ms)`,
    )
  }

  try {
    let first = true
    while (!signal.aborted) {
      let waitMs = POLL_MS
      try {
        for (const line of await readNewEvents()) {
          if (signal.aborted) return
          const wanted = options.events === null || options.events.includes(line.type)
          if (!first && wanted) await forward(line)
          remember(line)
        }
        // The log is empty: every later event is new.
        newest ??= Number.NEGATIVE_INFINITY
        if (first) say('Listening.')
        first = false
        forget(seen, newest)
      } catch (error) {
        if (signal.aborted) return
        if (error instanceof EngineError && !error.retryable) throw error
        waitMs = error instanceof RateLimited ? error.waitMs : AFTER_FAILURE_MS
        say(`${errorText(error)}; trying again in ${Math.ceil(waitMs / 1000)} s`)
      }
      await pause(clock, waitMs, signal)
    }
  } finally {
    egress.close()
  }
}

/** Removes entries that are older than the look-back. */
function forget(seen: Map<string, number>, newest: number): void {
  for (const [id, at] of seen) if (at < newest - 2 * LOOK_BACK_MS) seen.delete(id)
}

function latest(lines: ReadonlyMap<string, EventLine>): number {
  let newest = Number.NEGATIVE_INFINITY
  for (const { createdAt } of lines.values()) newest = Math.max(newest, Date.parse(createdAt))
  return newest
}

interface Answer {
  readonly data: unknown
  readonly meta?: { readonly pagination: { readonly cursor: string | null } }
}

/** The API requests a pause. */
class RateLimited extends EngineError {
  readonly waitMs: number

  constructor(seconds: number) {
    super('overloaded', 'the request budget of this key is spent', { retryable: true })
    this.waitMs = seconds * 1000
  }
}

async function requestApi({ apiUrl, key, signal }: ListenOptions, path: string): Promise<Answer> {
  let response: Response
  try {
    response = await fetch(`${apiUrl}${path}`, { headers: { authorization: `Bearer ${key}` }, signal })
  } catch (error) {
    throw new EngineError('timeout', `${apiUrl} cannot be reached`, { retryable: true, cause: error })
  }
  if (response.status === 429) throw new RateLimited(Number(response.headers.get('retry-after') ?? 1))
  if (response.ok) return (await response.json()) as Answer
  const text = (await response.text()).slice(0, 500)
  const refused = response.status < 500
  throw new EngineError(
    refused ? 'config_invalid' : 'internal',
    `${apiUrl}${path} answered ${response.status}: ${text}`,
    { retryable: !refused },
  )
}

function pause(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const finish = (): void => {
      timer.cancel()
      signal.removeEventListener('abort', finish)
      resolve()
    }
    const timer = clock.after(ms, finish)
    signal.addEventListener('abort', finish, { once: true })
    if (signal.aborted) finish()
  })
}
