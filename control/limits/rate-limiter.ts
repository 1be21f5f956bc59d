import type { Clock } from '../../media/base/clock.js'
import { type Refusal, refuse } from '../api/problem.js'
import type { Budget, BudgetOwner, RateLimiter } from '../api/request-budget.js'

/** The operator's requests a minute for an owner; null means the default. */
export type LimitLookup = (owner: BudgetOwner) => Promise<number | null>

/** Decisions 2.7: 600 a minute, refilled at ten a second. */
export const DEFAULT_LIMIT = 600
const WINDOW_SECONDS = 60
/** How long an operator's change of a limit may go unnoticed. */
const LOOKUP_MS = 10_000
/** Full buckets say nothing; above this many, they are dropped. */
const KEPT_BUCKETS = 10_000

interface Bucket {
  limit: number
  tokens: number
  /** Monotonic ms of the last refill. */
  at: number
  /** Monotonic ms until which `limit` is believed. */
  limitUntil: number
}

export function openRateLimiter(clock: Clock, lookup: LimitLookup): RateLimiter {
  const buckets = new Map<string, Bucket>()

  async function bucketOf(owner: BudgetOwner): Promise<Bucket> {
    const name = `${owner.organizationId} ${owner.environment}`
    const known = buckets.get(name)
    if (known !== undefined && known.limitUntil > clock.now()) return known
    const limit = (await lookup(owner)) ?? DEFAULT_LIMIT
    const now = clock.now()
    // Read again: another request may have made it while this one waited.
    const bucket = buckets.get(name) ?? { limit, tokens: limit, at: now, limitUntil: 0 }
    refill(bucket, now)
    bucket.tokens = Math.min(bucket.tokens, limit)
    bucket.limit = limit
    bucket.limitUntil = now + LOOKUP_MS
    if (!buckets.has(name)) {
      if (buckets.size >= KEPT_BUCKETS) dropFull(buckets, now)
      buckets.set(name, bucket)
    }
    return bucket
  }

  return {
    async take(owner, cost) {
      const bucket = await bucketOf(owner)
      refill(bucket, clock.now())
      // A limit below the cost of an operation must not close it for ever.
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

/** Bulk, CSV and PDF operations cost five requests, any other one. */
export function requestCost({ path, contentType }: { path: string; contentType: string }): number {
  const heavy =
    /\/(bulk|import)$|\.(csv|pdf)$/.test(path) || /^(text\/csv|application\/pdf)/.test(contentType)
  return heavy ? 5 : 1
}

/** The headers every keyed response carries, refusals included. */
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
    `The request budget of ${budget.limit} a minute is spent. Retry in ${seconds} s.`,
    { retry_after_seconds: seconds },
    { 'retry-after': String(seconds) },
  )
}

const perSecond = (bucket: Bucket): number => bucket.limit / WINDOW_SECONDS

function refill(bucket: Bucket, now: number): void {
  const earned = ((now - bucket.at) / 1000) * perSecond(bucket)
  bucket.tokens = Math.min(bucket.limit, bucket.tokens + earned)
  bucket.at = now
}

/** `wanted`: tokens that the time to wait is counted for. */
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
