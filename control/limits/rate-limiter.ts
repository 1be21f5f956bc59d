import type { Clock } from '../../media/base/clock.js'
import { type Refusal, refuse } from '../api/problem.js'
import type { Budget, BudgetOwner, RateLimiter } from '../api/request-budget.js'

/** Returns the requests per minute of an owner, or null for the default. */
export type LimitLookup = (owner: BudgetOwner) => Promise<number | null>

/** 600 requests per minute, refilled at 10 per second. */
export const DEFAULT_LIMIT = 600
const WINDOW_SECONDS = 60
/** A changed limit takes effect within this time. */
const LOOKUP_MS = 10_000
/** Number of buckets above which full ones are removed. */
const MAX_BUCKETS = 10_000

interface Bucket {
  limit: number
  tokens: number
  /** Monotonic time of the last refill (ms). */
  refilledAt: number
  /** Monotonic time at which `limit` is looked up again (ms). */
  limitUntil: number
}

export function openRateLimiter(clock: Clock, lookup: LimitLookup): RateLimiter {
  const buckets = new Map<string, Bucket>()

  async function bucketOf(owner: BudgetOwner): Promise<Bucket> {
    const name = `${owner.organizationId} ${owner.environment}`
    const existing = buckets.get(name)
    if (existing !== undefined && existing.limitUntil > clock.now()) return existing
    const limit = (await lookup(owner)) ?? DEFAULT_LIMIT
    const now = clock.now()
    // Read again: another request may have created it during the lookup.
    const bucket = buckets.get(name) ?? { limit, tokens: limit, refilledAt: now, limitUntil: 0 }
    refill(bucket, now)
    bucket.tokens = Math.min(bucket.tokens, limit)
    bucket.limit = limit
    bucket.limitUntil = now + LOOKUP_MS
    if (!buckets.has(name)) {
      if (buckets.size >= MAX_BUCKETS) dropFull(buckets, now)
      buckets.set(name, bucket)
    }
    return bucket
  }

  return {
    async take(owner, cost) {
      const bucket = await bucketOf(owner)
      refill(bucket, clock.now())
      // An operation that costs more than the limit must still be possible.
      const price = Math.min(cost, bucket.limit)
      const allowed = bucket.tokens >= price
      if (allowed) bucket.tokens -= price
      return { allowed, ...budgetOf(bucket, clock.wall(), allowed ? 1 : price) }
    },
    async peek(owner) {
      const bucket = await bucketOf(owner)
      refill(bucket, clock.now())
      return budgetOf(bucket, clock.wall(), 1)
    },
  }
}

/** Returns the cost of an operation in requests: 5 for bulk, CSV and PDF operations, else 1. */
export function requestCost({ path, contentType }: { path: string; contentType: string }): number {
  const heavy =
    /\/(bulk|import)$|\.(csv|pdf)$/.test(path) || /^(text\/csv|application\/pdf)/.test(contentType)
  return heavy ? 5 : 1
}

/** Returns the rate limit headers of a response to an API key, including refusals. */
export function budgetHeaders(budget: Budget): Record<string, string> {
  const { limit, remaining, resetSeconds, fullAt } = budget
  return {
    'ratelimit-policy': `"default";q=${limit};w=${WINDOW_SECONDS}`,
    ratelimit: `"default";r=${remaining};t=${resetSeconds}`,
    'x-ratelimit-limit': String(limit),
    'x-ratelimit-remaining': String(remaining),
    'x-ratelimit-reset': String(fullAt),
  }
}

export function rateLimited(budget: Budget): Refusal<'rate_limited'> {
  const seconds = Math.max(1, budget.resetSeconds)
  return refuse(
    'rate_limited',
    `The limit of ${budget.limit} requests per minute is reached. Retry in ${seconds} s.`,
    { retry_after_seconds: seconds },
    { 'retry-after': String(seconds) },
  )
}

const perSecond = (bucket: Bucket): number => bucket.limit / WINDOW_SECONDS

function refill(bucket: Bucket, now: number): void {
  const refilled = ((now - bucket.refilledAt) / 1000) * perSecond(bucket)
  bucket.tokens = Math.min(bucket.limit, bucket.tokens + refilled)
  bucket.refilledAt = now
}

/**
 * Returns the budget of a bucket. `wanted` is the number of tokens for which the waiting time is computed.
 */
function budgetOf(bucket: Bucket, wallMs: number, wanted: number): Budget {
  const rate = perSecond(bucket)
  const remaining = Math.floor(bucket.tokens)
  const full = bucket.tokens >= bucket.limit
  const next = wanted === 1 ? remaining + 1 : wanted
  return {
    limit: bucket.limit,
    remaining,
    resetSeconds: full ? 0 : Math.ceil((next - bucket.tokens) / rate),
    fullAt: Math.ceil(wallMs / 1000 + (bucket.limit - bucket.tokens) / rate),
  }
}

function dropFull(buckets: Map<string, Bucket>, now: number): void {
  for (const [name, bucket] of buckets) {
    refill(bucket, now)
    if (bucket.tokens >= bucket.limit) buckets.delete(name)
  }
}
