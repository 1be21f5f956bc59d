/** Requests per minute of an organization in one environment, if staff set a limit. */
export interface RequestLimitRow {
  readonly organizationId: string
  readonly environment: 'test' | 'live'
  readonly perMinute: number
}

/** Token bucket of an organization in one environment. A row exists after the first request. */
export interface RequestBudgetRow {
  readonly organizationId: string
  readonly environment: 'test' | 'live'
  /** Unix time (ms) at which the bucket is full. */
  readonly fullAt: number
  /** Tokens that the last statement took. */
  readonly granted: number
}

export interface RequestLimitTables {
  requestBudgets: RequestBudgetRow
  requestLimits: RequestLimitRow
}
