/** Owner of a budget. Test and live have separate budgets. */
export interface BudgetOwner {
  readonly organizationId: string
  readonly environment: 'test' | 'live'
}

/** Remaining budget. */
export interface Budget {
  /** Requests per minute, and the maximum that can accumulate. */
  readonly limit: number
  /** Requests that can be sent immediately. */
  readonly remaining: number
  /**
   * Time until the next request is allowed (s), or after a refusal until the refused one is. 0 if the
   * budget is full.
   */
  readonly resetSeconds: number
  /** Unix time (s) at which the budget is full again. */
  readonly fullAt: number
}

export interface RateLimitResult extends Budget {
  readonly allowed: boolean
}

/** Token buckets that all processes of one database share. */
export interface RateLimiter {
  /** Takes `cost` tokens, or none if there are not enough. */
  take(owner: BudgetOwner, cost: number): Promise<RateLimitResult>
  peek(owner: BudgetOwner): Promise<Budget>
}
