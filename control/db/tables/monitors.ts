/** A listening to a live call, or a takeover of one. */
export interface CallMonitorRow {
  readonly id: string
  readonly organizationId: string
  readonly environment: 'test' | 'live'
  readonly callId: string
  readonly userId: string
  readonly mode: 'listen' | 'takeover'
  /** Place among those of the call; null when it is over. A place is held once. */
  readonly place: number | null
  readonly createdAt: number
  /** Null until the caller was taken over. */
  readonly startedAt: number | null
  readonly endedAt: number | null
  /** How a takeover ended. Null for a listening. */
  readonly outcome: string | null
}

export interface MonitorTables {
  callMonitors: CallMonitorRow
}
