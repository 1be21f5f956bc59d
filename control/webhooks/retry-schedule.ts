/** Result of one attempt. */
export type AttemptResult =
  | { readonly kind: 'answered'; readonly status: number; readonly retryAfterMs: number | null }
  /** No response: timeout, connection error or refused address. */
  | { readonly kind: 'failed' }

export type AttemptPlan =
  | { readonly kind: 'delivered' }
  /** `at` is the time of the next attempt (Unix ms). */
  | { readonly kind: 'retry'; readonly at: number }
  | { readonly kind: 'give-up' }

const MINUTE_MS = 60_000

/** Delay after attempt 1, 2, ...: 1, 2, 4, ... 128 minutes, then four hours each. */
const DELAYS_MS = [1, 2, 4, 8, 16, 32, 64, 128, 240, 240, 240, 240, 240].map((minutes) => minutes * MINUTE_MS)

/** Maximum attempts. The last one is 24 h 15 min after the first. */
export const MAX_ATTEMPTS = DELAYS_MS.length + 1
/** Jitter of the delays, so that receivers do not get bursts. */
const JITTER = 0.1
/** Maximum respected Retry-After (ms). */
const MAX_RETRY_AFTER_MS = 240 * MINUTE_MS

/**
 * Returns the next step after attempt number `attempt` (from 1) that ended at `now` (Unix ms). `random`, in
 * [0, 1), determines the jitter.
 */
export function planNextAttempt(
  attempt: number,
  result: AttemptResult,
  now: number,
  random: number,
): AttemptPlan {
  if (result.kind === 'answered') {
    if (result.status >= 200 && result.status < 300) return { kind: 'delivered' }
    if (!isRetried(result.status)) return { kind: 'give-up' }
  }
  const delayMs = DELAYS_MS[attempt - 1]
  if (delayMs === undefined) return { kind: 'give-up' }
  const jitteredMs = Math.round(delayMs * (1 - JITTER + 2 * JITTER * random))
  const requestedMs = result.kind === 'answered' ? Math.min(result.retryAfterMs ?? 0, MAX_RETRY_AFTER_MS) : 0
  return { kind: 'retry', at: now + Math.max(jitteredMs, requestedMs) }
}

/** Returns true for server errors, 408 and 429. Redirects and other client errors are not retried. */
function isRetried(status: number): boolean {
  return status >= 500 || status === 408 || status === 429
}

/**
 * Parses a `Retry-After` header (RFC 9110, 10.2.3): seconds or a date. Returns the delay (ms), or null if
 * it is invalid.
 */
export function retryAfterMs(header: string | undefined, now: number): number | null {
  if (header === undefined) return null
  const text = header.trim()
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1000
  // An HTTP date starts with a weekday.
  if (!/^[A-Z][a-z]{2}/.test(text)) return null
  const at = Date.parse(text)
  return Number.isNaN(at) ? null : Math.max(0, at - now)
}
