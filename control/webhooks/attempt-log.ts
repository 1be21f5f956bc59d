import type { WebhookDeliveryRow } from '../db/tables/webhooks.js'
import type { AttemptError } from './delivery-attempt.js'

/** One attempt of a delivery, as its row keeps it. */
export interface LoggedAttempt {
  /** From 1. */
  readonly attempt: number
  /** Time of the request (Unix ms). */
  readonly at: number
  /** HTTP status of the response. Null without one. */
  readonly status: number | null
  readonly error: AttemptError | null
  /** Null if the process died during the attempt. */
  readonly durationMs: number | null
}

/** Returns the attempts of a delivery that have ended, oldest first. Those before migration 0072 are missing. */
export function readAttemptLog({
  attemptLog,
}: Pick<WebhookDeliveryRow, 'attemptLog'>): readonly LoggedAttempt[] {
  return attemptLog === null ? [] : (JSON.parse(attemptLog) as LoggedAttempt[])
}

/**
 * Returns the attempt that the row counts and whose end was never stored, because its process died. Null if there is none.
 * No attempt may be under way.
 */
export function lostAttempt(
  row: Pick<WebhookDeliveryRow, 'attemptLog' | 'attempts' | 'lastAttemptAt'>,
): LoggedAttempt | null {
  const { attempts: attempt, lastAttemptAt: at, attemptLog } = row
  const known = readAttemptLog(row).at(-1)?.attempt ?? 0
  // The end of an attempt before migration 0072 was stored without a log.
  if (at === null || attemptLog === null || known >= attempt) return null
  return { attempt, at, status: null, error: 'interrupted', durationMs: null }
}
