/** How one attempt went. */
export type AttemptResult =
  | { readonly kind: 'answered'; readonly status: number; readonly retryAfterMs: number | null }
  /** No answer: timeout, connection error, refused address. */
  | { readonly kind: 'failed' }

export type AttemptPlan =
  | { readonly do: 'delivered' }
  /** Unix ms. */
  | { readonly do: 'retry'; readonly at: number }
  | { readonly do: 'give-up' }

const MINUTE_MS = 60_000

/** Wait after attempt 1, 2, ...: 1, 2, 4, ... 128 minutes, then four hours each (contract 6.3). */
const DELAYS_MS = [1, 2, 4, 8, 16, 32, 64, 128, 240, 240, 240, 240, 240].map((minutes) => minutes * MINUTE_MS)

/** Then it is over, 24 h 15 min after the first. */
export const MAX_ATTEMPTS = DELAYS_MS.length + 1
/** Each wait is a tenth longer or shorter at most, so that receivers are not met by waves. */
const JITTER = 0.1
/** A longer Retry-After is not waited for. */
const MAX_RETRY_AFTER_MS = 240 * MINUTE_MS

/**
 * What follows the `attempt`-th attempt (from 1) that ended at `now` (Unix ms). `random`, in [0, 1),
 * places the next one within the jitter.
 */
export function planNextAttempt(
  attempt: number,
  result: AttemptResult,
  now: number,
  random: number,
): AttemptPlan {
  if (result.kind === 'answered') {
    if (result.status >= 200 && result.status < 300) return { do: 'delivered' }
    if (!isRetried(result.status)) return { do: 'give-up' }
  }
  const delayMs = DELAYS_MS[attempt - 1]
  if (delayMs === undefined) return { do: 'give-up' }
  const jittered = Math.round(delayMs * (1 - JITTER + 2 * JITTER * random))
  const asked = result.kind === 'answered' ? Math.min(result.retryAfterMs ?? 0, MAX_RETRY_AFTER_MS) : 0
  return { do: 'retry', at: now + Math.max(jittered, asked) }
}

/** Server errors and the two client errors that mean "later"; not redirects, not other refusals. */
function isRetried(status: number): boolean {
  return status >= 500 || status === 408 || status === 429
}

/** Milliseconds a `Retry-After` header asks for (RFC 9110, 10.2.3): seconds or a date; null otherwise. */
export function retryAfterMs(header: string | undefined, now: number): number | null {
  if (header === undefined) return null
  const text = header.trim()
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1000
  // An HTTP date starts with the name of a day.
  if (!/^[A-Z][a-z]{2}/.test(text)) return null
  const at = Date.parse(text)
  return Number.isNaN(at) ? null : Math.max(0, at - now)
}
