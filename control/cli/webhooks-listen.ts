import type { Clock } from '../../media/base/clock.js'
import { EngineError, errorText } from '../../media/base/errors.js'
import { openEgress } from '../net/egress.js'
import { postWebhook } from '../webhooks/delivery-attempt.js'
import { webhookHeaders } from '../webhooks/signature.js'

export interface ListenOptions {
  /** Base of the API, no slash at the end. */
  readonly apiUrl: string
  readonly key: string
  /** Where events go; the developer's own machine, so any address will do. */
  readonly forward: string
  /** Types to forward; null for all. */
  readonly events: readonly string[] | null
  /** Signs what is forwarded, like an endpoint's secret. */
  readonly secret: string
  readonly clock: Clock
  /** One line per event, and what goes wrong. */
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
/** An event becomes visible when its transaction commits, which may be this long after its time. */
const LOOK_BACK_MS = 60_000
const PAGE = 100

/**
 * Forwards the events of the key's environment that happen from now on, oldest first, by asking the
 * public event log once a second. Runs until the signal is aborted. A refused key is thrown as
 * EngineError `config_invalid`; anything else is said and tried again.
 */
export async function forwardEvents(options: ListenOptions): Promise<void> {
  const { clock, signal, print: say } = options
  const egress = openEgress({ allowPrivate: true })
  /** Events that were there before, or are done with, and when they happened. */
  const seen = new Map<string, number>()
  let newest: number | null = null

  /** Lines not seen yet, oldest first. */
  async function fresh(): Promise<readonly EventLine[]> {
    const found = new Map<string, EventLine>()
    const since = newest === null ? Number.NEGATIVE_INFINITY : newest - LOOK_BACK_MS
    for (let cursor = ''; ; ) {
      const page = await ask(options, `/v1/events?limit=${PAGE}${cursor}`)
      for (const line of page.data as readonly EventLine[]) {
        if (!seen.has(line.id)) found.set(line.id, line)
      }
      const last = (page.data as readonly EventLine[]).at(-1)
      const next = page.meta?.pagination.cursor ?? null
      // The very first look needs no more than what later ones look back on.
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
    const { data } = await ask(options, `/v1/events/${line.id}`)
    const body = JSON.stringify((data as { readonly payload: unknown }).payload)
    const at = Math.floor(clock.wall() / 1000)
    const stamp = { type: line.type, eventId: line.id, attempt: 1, at }
    const headers = webhookHeaders(body, [options.secret], stamp)
    const attempt = await postWebhook({ egress, clock, url: options.forward, headers, body, signal })
    say(
      `${line.createdAt}  ${line.type}  ${line.id}  -> ${attempt.status ?? attempt.error} (${attempt.durationMs} ms)`,
    )
  }

  try {
    let first = true
    while (!signal.aborted) {
      let waitMs = POLL_MS
      try {
        for (const line of await fresh()) {
          if (signal.aborted) return
          const wanted = options.events === null || options.events.includes(line.type)
          if (!first && wanted) await forward(line)
          remember(line)
        }
        // An empty log: from now on everything is news.
        newest ??= Number.NEGATIVE_INFINITY
        if (first) say('Listening.')
        first = false
        forget(seen, newest)
      } catch (error) {
        if (signal.aborted) return
        if (error instanceof EngineError && !error.retryable) throw error
        waitMs = error instanceof Busy ? error.waitMs : AFTER_FAILURE_MS
        say(`${errorText(error)}; trying again in ${Math.ceil(waitMs / 1000)} s`)
      }
      await pause(clock, waitMs, signal)
    }
  } finally {
    egress.close()
  }
}

/** Old enough that no look back reaches it. */
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

/** The API asks for a pause. */
class Busy extends EngineError {
  readonly waitMs: number

  constructor(seconds: number) {
    super('overloaded', 'the request budget of this key is spent', { retryable: true })
    this.waitMs = seconds * 1000
  }
}

async function ask({ apiUrl, key, signal }: ListenOptions, path: string): Promise<Answer> {
  let response: Response
  try {
    response = await fetch(`${apiUrl}${path}`, { headers: { authorization: `Bearer ${key}` }, signal })
  } catch (error) {
    throw new EngineError('timeout', `${apiUrl} cannot be reached`, { retryable: true, cause: error })
  }
  if (response.status === 429) throw new Busy(Number(response.headers.get('retry-after') ?? 1))
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
    const over = (): void => {
      timer.cancel()
      signal.removeEventListener('abort', over)
      resolve()
    }
    const timer = clock.after(ms, over)
    signal.addEventListener('abort', over, { once: true })
    if (signal.aborted) over()
  })
}
