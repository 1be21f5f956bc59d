import type { Generated } from 'kysely'

type Environment = 'test' | 'live'

/** Job to run at a given time, at least once (control/jobs). */
export interface JobRow {
  readonly id: string
  readonly kind: string
  /** Jobs of a lane share a concurrency limit. Empty for kinds without lanes. */
  readonly lane: string
  /** Time at which the job may run. While a runner holds it, time at which the lease ends. */
  readonly dueAt: number
  /** Runner that holds the job. Null if it is not claimed. */
  readonly owner: string | null
  /** Number of claims. */
  readonly attempts: number
  readonly payload: string
  /** Number of times that a change woke the job (wake.ts). */
  readonly wakes: number
  readonly createdAt: number
}

export interface WebhookEndpointRow {
  readonly id: string
  readonly organizationId: string
  readonly url: string
  readonly description: string | null
  /** JSON array of event types. */
  readonly events: string
  readonly enabled: number
  /** Failed attempts since the last success. */
  readonly consecutiveFailures: number
  /** Time of the first of these failures. Null without failures. */
  readonly failingSince: number | null
  readonly disabledReason: string | null
  readonly disabledAt: number | null
  /** Encrypted signing secret. Contains an empty text after deletion. */
  readonly secret: string
  /** Encrypted previous secret while it is still valid. */
  readonly previousSecret: string | null
  readonly previousValidUntil: number | null
  readonly createdAt: number
  readonly deletedAt: number | null
}

export type DeliveryStatus = 'pending' | 'delivered' | 'failed'

export interface WebhookDeliveryRow {
  readonly id: string
  readonly organizationId: string
  readonly endpointId: string
  readonly eventId: string
  readonly type: string
  readonly environment: Environment | null
  readonly status: DeliveryStatus
  /** Number of started attempts. */
  readonly attempts: number
  readonly lastStatus: number | null
  readonly lastError: string | null
  readonly lastDurationMs: number | null
  readonly lastAttemptAt: number | null
  /** Null if no attempt is planned or the endpoint is disabled. */
  readonly nextAttemptAt: number | null
  /** JSON array of `LoggedAttempt`, oldest first. Null if the delivery is older than migration 0072 and had no attempt since. */
  readonly attemptLog: string | null
  /** Body of all attempts, stored from the first attempt to the last. */
  readonly body: string | null
  /** 1 for the latest delivery of an event to an endpoint. */
  readonly latest: number
  readonly createdAt: number
  readonly deliveredAt: number | null
}

export interface WebhookTables {
  jobs: Omit<JobRow, 'wakes'> & { readonly wakes: Generated<number> }
  webhookEndpoints: WebhookEndpointRow
  webhookDeliveries: WebhookDeliveryRow
}
