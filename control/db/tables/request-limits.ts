/** Requests per minute of an organization in one environment, if staff set a limit. */
export interface RequestLimitRow {
  readonly organizationId: string
  readonly environment: 'test' | 'live'
  readonly perMinute: number
}

export interface RequestLimitTables {
  requestLimits: RequestLimitRow
}
