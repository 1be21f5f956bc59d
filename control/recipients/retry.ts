import type { CampaignRow } from '../db/tables/campaigns.js'

const MINUTE_MS = 60_000

/**
 * Returns the delay before the next attempt (ms) after `attempts` attempts. The first retry follows after one
 * interval; then the delay grows by one interval or doubles.
 */
export function retryDelayMs(backoff: string, intervalMinutes: number, attempts: number): number {
  const factor = backoff === 'exponential' ? 2 ** (attempts - 1) : attempts
  return factor * intervalMinutes * MINUTE_MS
}

export type RetryRule = Pick<CampaignRow, 'attempts' | 'backoff' | 'intervalMinutes' | 'retryOn'>

/** Returns when a recipient is dialled again (Unix ms) after an attempt with this outcome. Null means never. */
export function retryAt(rule: RetryRule, attempts: number, outcome: string, now: number): number | null {
  const on: unknown = JSON.parse(rule.retryOn)
  if (attempts >= rule.attempts || !Array.isArray(on) || !on.includes(outcome)) return null
  return now + retryDelayMs(rule.backoff, rule.intervalMinutes, attempts)
}

/** Returns the sum of the delays between the first and the last attempt (ms). */
export function retryTailMs(rule: Omit<RetryRule, 'retryOn'>): number {
  let sum = 0
  for (let attempt = 1; attempt < rule.attempts; attempt++) {
    sum += retryDelayMs(rule.backoff, rule.intervalMinutes, attempt)
  }
  return sum
}
