/** Whose bucket: test and live never borrow from each other (contract 8). */
export interface BudgetOwner {
  readonly organizationId: string
  readonly environment: 'test' | 'live'
}

/** What is left of a budget. */
export interface Budget {
  /** Requests a minute, and the most that can be saved up. */
  readonly limit: number
  /** Whole requests that may be sent at once. */
  readonly remaining: number
  /** Whole seconds until one more may be sent, or, after a refusal, that one; 0 when full. */
  readonly resetSeconds: number
  /** Unix seconds at which nothing is spent any more. */
  readonly fullAt: number
}

export interface RateLimitResult extends Budget {
  readonly allowed: boolean
}

/** Token buckets of this process: each process that shares a database keeps its own. */
export interface RateLimiter {
  /** Takes `cost` tokens, or none when there are fewer. */
  take(owner: BudgetOwner, cost: number): Promise<RateLimitResult>
  peek(owner: BudgetOwner): Promise<Budget>
}
