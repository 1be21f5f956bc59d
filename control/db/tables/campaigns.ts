type Environment = 'test' | 'live'

export const CAMPAIGN_STATUSES = [
  ...(['draft', 'scheduled', 'running', 'paused', 'completed', 'stopped', 'failed'] as const),
] as const
export type CampaignStatus = (typeof CAMPAIGN_STATUSES)[number]

export const PAUSED_REASONS = [
  ...(['operator', 'low_balance', 'target_unavailable', 'carrier_errors', 'service_errors'] as const),
] as const
export type PausedReason = (typeof PAUSED_REASONS)[number]

export interface CampaignRow {
  readonly id: string
  readonly organizationId: string
  readonly environment: Environment
  readonly name: string
  readonly status: CampaignStatus
  readonly pausedReason: PausedReason | null
  readonly failureReason: string | null
  readonly agentId: string
  /** Names and number as they were at launch, or at the last change of the draft. */
  readonly agentName: string
  readonly numberId: string
  readonly numberE164: string
  /** Version that all calls use. Null until launch. */
  readonly agentVersion: number | null
  /** 1 if the agent of that version begins to speak. */
  readonly speaksFirst: number
  /** Null until launch. */
  readonly purpose: string | null
  readonly autoPauseBelowPaise: number
  readonly callsPerMinute: number
  readonly maxConcurrent: number
  /** Most dials per recipient. */
  readonly attempts: number
  readonly backoff: string
  readonly intervalMinutes: number
  /** JSON: dispositions that are dialled again. */
  readonly retryOn: string
  readonly startsAt: number | null
  readonly endsAt: number | null
  /** Bit mask. Monday is bit 0. */
  readonly weekdays: number
  /** Minutes after midnight IST. The start is inclusive, the end exclusive. */
  readonly windowStartMinute: number
  readonly windowEndMinute: number
  /** Earliest time of the next dial. A conditional update of it is the right to dial. */
  readonly nextDialAt: number
  /** Recipients up to this position exist. Rows above it belong to an import that is not complete. */
  readonly uploaded: number
  /** Import in progress and the end of its lease. */
  readonly importId: string | null
  readonly importUntil: number | null
  /** Counters of the recipients' rows, changed in the same transactions. The rows are right if they differ. */
  readonly total: number
  readonly dialed: number
  readonly connected: number
  readonly excluded: number
  readonly settled: number
  readonly spentPaise: number
  readonly lateAgentSound: number
  /** Time of the last comparison of the counters with the rows. */
  readonly countedAt: number
  /** Attempts before this time do not count for the breaker. Null before the first resume after a break. */
  readonly breakerAt: number | null
  /** Pauses by the breaker since a call last reached its person. Above 0, a running campaign has one call at a time. */
  readonly breakerTrips: number
  /** Time of the next call after a pause by the breaker. Else null. */
  readonly resumesAt: number | null
  /** Since when the number cannot call for a cause that may pass. Else null. */
  readonly unreachableSince: number | null
  /** JSON of the last pre-flight. */
  readonly preflight: string | null
  readonly launchedAt: number | null
  /**
   * Request that launched the campaign. A repetition of it launches nothing. Null for launches before migration 0087.
   */
  readonly launchRequestId: string | null
  readonly completedAt: number | null
  readonly archivedAt: number | null
  readonly createdAt: number
  readonly updatedAt: number
}

export const RECIPIENT_STATUSES = [
  ...(['pending', 'queued', 'dialing', 'in_call', 'retry_wait', 'settled'] as const),
] as const
export type RecipientStatus = (typeof RECIPIENT_STATUSES)[number]

export interface RecipientRow {
  readonly id: string
  readonly campaignId: string
  readonly organizationId: string
  readonly environment: Environment
  /** Order of upload, from 1. */
  readonly position: number
  readonly e164: string
  readonly externalId: string | null
  /** JSON: texts by variable name. */
  readonly variables: string
  readonly status: RecipientStatus
  /** Last disposition, `excluded` or `abandoned`. */
  readonly outcome: string | null
  readonly excludedReason: string | null
  readonly attempts: number
  /** Earliest time of the next attempt. End of the claim while `queued`. */
  readonly nextAttemptAt: number
  readonly lastAttemptAt: number | null
  readonly lastCallId: string | null
  /** First time that a call to the recipient was answered. */
  readonly connectedAt: number | null
  readonly spentPaise: number
  /** Dials in a row that this service could not start. */
  readonly undone: number
  /** Owner of the claim while `queued`. */
  readonly claimedBy: string | null
  readonly createdAt: number
  readonly settledAt: number | null
}

/** Rate of dials over one route (a trunk or the carrier of a number). Without a row the route is at full rate. */
export interface RoutePaceRow {
  readonly organizationId: string
  readonly environment: Environment
  readonly route: string
  /** Earliest time of the next dial. */
  readonly nextDialAt: number
  /** Share of the full rate at `rateAt`, 1 to 1000. */
  readonly ratePermille: number
  readonly rateAt: number
}

export const CALLBACK_STATUSES = ['scheduled', 'due', 'dialled', 'refused', 'canceled'] as const
export type CallbackStatus = (typeof CALLBACK_STATUSES)[number]

export interface CallbackRow {
  readonly id: string
  readonly organizationId: string
  readonly environment: Environment
  /** Call on which the callback was promised. */
  readonly callId: string
  readonly agentId: string
  readonly numberId: string
  readonly e164: string
  /** Time of the next attempt. */
  readonly dueAt: number
  /** Time that the person was told. */
  readonly promisedAt: number
  readonly note: string
  /** JSON: variables of the call on which the callback was promised. */
  readonly variables: string
  readonly status: CallbackStatus
  readonly resultCallId: string | null
  readonly reason: string | null
  readonly createdAt: number
}

export interface CampaignTables {
  campaigns: CampaignRow
  campaignRecipients: RecipientRow
  routePaces: RoutePaceRow
  callbacks: CallbackRow
}
