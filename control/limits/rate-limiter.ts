import type { Clock, Timer } from '../../media/base/clock.js'
import { errorText } from '../../media/base/errors.js'
import type { Log } from '../../media/base/log.js'
import { type Refusal, tooEarly } from '../api/problem.js'
import type { Budget, BudgetOwner, RateLimiter } from '../api/request-budget.js'
import type { BudgetStore } from './rate-limit-store.js'

/** 600 requests per minute, refilled at 10 per second. */
export const DEFAULT_LIMIT = 600
const WINDOW_SECONDS = 60
const WINDOW_MS = WINDOW_SECONDS * 1000
/** Tokens taken by one statement, as a part of the limit. */
const LEASE_PART = 1 / 20
/** A changed limit takes effect within this time. */
const LOOKUP_MS = 10_000
/** Time that a request waits for the database at most. */
const PATIENCE_MS = 250
/** Time without the database after it was slow or failed. */
const PAUSE_MS = 1_000
/** Number of buckets above which unused ones are removed. */
const MAX_BUCKETS = 10_000
/** Fractions of tokens are sums of floating-point numbers. */
const EPSILON = 1e-6

/** State of a bucket in this process. */
interface Bucket {
  readonly owner: BudgetOwner
  limit: number
  /** Time at which `limit` is looked up again (ms). */
  limitUntil: number
  /** Tokens that this process has taken and not spent. */
  lease: number
  /** Unix time (ms) at which the bucket of the database is full. Null before the first statement. */
  fullAt: number | null
  /** The statements that are under way. */
  pending: Promise<void> | null
  /** Time until which the database is not asked (ms). */
  pausedUntil: number
  /** Own bucket for the time without the database: when it will be full (ms). */
  aloneFullAt: number
}

/**
 * Opens token buckets that the processes of a database share. Each process takes tokens from the database in
 * leases of a twentieth of the limit and spends them in memory, so that a busy key costs one statement per 30
 * requests at the default limit. In any interval all processes together admit at most what one bucket of the
 * size of the limit admits, plus one lease for each process. The budget in headers and in `peek` lacks what
 * the other processes hold or took since the last statement of this process: at most one lease each.
 *
 * A request waits for the database for 250 ms at most. While the database is slow or away, each process
 * counts on its own, so that the limit holds per process; it asks the database again every second.
 */
export function openRateLimiter(clock: Clock, store: BudgetStore, log: Log): RateLimiter {
  const buckets = new Map<string, Bucket>()

  function bucketOf(owner: BudgetOwner): Bucket {
    const name = `${owner.organizationId} ${owner.environment}`
    const existing = buckets.get(name)
    if (existing !== undefined) return existing
    if (buckets.size >= MAX_BUCKETS) dropUnused(buckets, clock.wall())
    const bucket: Bucket = {
      owner,
      limit: DEFAULT_LIMIT,
      limitUntil: clock.now(),
      lease: 0,
      fullAt: null,
      pending: null,
      pausedUntil: 0,
      aloneFullAt: 0,
    }
    buckets.set(name, bucket)
    return bucket
  }

  /** Looks up the limit when it is due, and takes `wanted` tokens. */
  async function ask(bucket: Bucket, wanted: number): Promise<void> {
    if (bucket.limitUntil <= clock.now()) {
      const limit = (await store.limitOf(bucket.owner)) ?? DEFAULT_LIMIT
      // Tokens of the old limit are worth another part of the new one.
      if (limit !== bucket.limit) bucket.lease = 0
      bucket.limit = limit
      bucket.limitUntil = clock.now() + LOOKUP_MS
    }
    const size =
      wanted === 0 ? 0 : Math.min(bucket.limit, Math.max(wanted, Math.ceil(bucket.limit * LEASE_PART)))
    const request = { wanted: size, limit: bucket.limit, windowMs: WINDOW_MS, now: clock.wall() }
    const { granted, fullAt } = await store.takeTokens(bucket.owner, request)
    bucket.lease += granted
    bucket.fullAt = fullAt
  }

  /** Resolves when the database has answered. Returns false if it did not in time. */
  async function refresh(bucket: Bucket, wanted: number): Promise<boolean> {
    if (bucket.pausedUntil > clock.now()) return false
    bucket.pending ??= ask(bucket, wanted).finally(() => {
      bucket.pending = null
    })
    const problem = await within(clock, bucket.pending)
    if (problem === null) return true
    if (bucket.pausedUntil <= clock.now()) log.warn({ error: problem }, 'request_budget.database_away')
    bucket.pausedUntil = clock.now() + PAUSE_MS
    return false
  }

  return {
    async take(owner, cost) {
      const bucket = bucketOf(owner)
      let due = bucket.limitUntil <= clock.now()
      for (;;) {
        // An operation that costs more than the limit must still be possible.
        const price = Math.min(cost, bucket.limit)
        const now = clock.wall()
        if (!due && bucket.lease + EPSILON >= price) {
          bucket.lease -= price
          return { allowed: true, ...budgetOf(bucket, now, 1) }
        }
        // The other processes can only make it less, so that refusals cost no statement.
        if (!due && tokensOf(bucket, now) + EPSILON < price) {
          return { allowed: false, ...budgetOf(bucket, now, price) }
        }
        if (!(await refresh(bucket, Math.max(0, price - bucket.lease)))) return takeAlone(bucket, price, now)
        due = false
      }
    },
    async peek(owner) {
      const bucket = bucketOf(owner)
      const answered = await refresh(bucket, 0)
      return answered ? budgetOf(bucket, clock.wall(), 1) : aloneBudget(bucket, clock.wall(), 1)
    },
  }
}

/** Returns null when the promise resolves in time, else the reason why it did not. */
function within(clock: Clock, pending: Promise<void>): Promise<string | null> {
  return new Promise((resolve) => {
    const timer: Timer = clock.after(PATIENCE_MS, () => resolve(`no answer in ${PATIENCE_MS} ms`))
    pending
      .then(
        () => resolve(null),
        (error: unknown) => resolve(errorText(error)),
      )
      .finally(() => timer.cancel())
  })
}

/** Takes tokens from the own bucket of this process. */
function takeAlone(bucket: Bucket, price: number, now: number) {
  const start = Math.max(bucket.aloneFullAt, now)
  const fullAt = start + price * msPerToken(bucket)
  const allowed = fullAt <= now + WINDOW_MS
  if (allowed) bucket.aloneFullAt = fullAt
  return { allowed, ...aloneBudget(bucket, now, allowed ? 1 : price) }
}

function aloneBudget(bucket: Bucket, now: number, wanted: number): Budget {
  return budgetOf({ limit: bucket.limit, lease: 0, fullAt: bucket.aloneFullAt }, now, wanted)
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
  return tooEarly(
    `The limit of ${budget.limit} requests per minute is reached. Retry in ${seconds} s.`,
    seconds,
  )
}

const msPerToken = ({ limit }: Pick<Bucket, 'limit'>): number => WINDOW_MS / limit

/** Returns the tokens that this process can still spend, as far as it knows. */
function tokensOf(bucket: Pick<Bucket, 'limit' | 'lease' | 'fullAt'>, now: number): number {
  const missing = bucket.fullAt === null ? 0 : Math.max(0, bucket.fullAt - now) / msPerToken(bucket)
  return Math.min(bucket.limit, Math.max(0, bucket.limit - missing) + bucket.lease)
}

/** Returns the budget. `wanted` is the number of tokens for which the waiting time is computed. */
function budgetOf(bucket: Pick<Bucket, 'limit' | 'lease' | 'fullAt'>, now: number, wanted: number): Budget {
  const { limit } = bucket
  const tokens = tokensOf(bucket, now)
  const remaining = Math.floor(tokens + EPSILON)
  const full = tokens + EPSILON >= limit
  const next = wanted === 1 ? remaining + 1 : wanted
  const seconds = msPerToken(bucket) / 1000
  return {
    limit,
    remaining,
    resetSeconds: full ? 0 : Math.ceil((next - tokens) * seconds - EPSILON),
    fullAt: Math.ceil(now / 1000 + (limit - tokens) * seconds - EPSILON),
  }
}

/** Forgets the buckets that are full. A lease of theirs is lost, which no limit notices. */
function dropUnused(buckets: Map<string, Bucket>, now: number): void {
  for (const [name, bucket] of buckets) {
    const unused = bucket.pending === null && (bucket.fullAt ?? 0) <= now && bucket.aloneFullAt <= now
    if (unused) buckets.delete(name)
  }
}
