import { type Kysely, sql } from 'kysely'

type Environment = 'test' | 'live'

/** Work to be done at a time, at least once (control/jobs). */
export interface JobRow {
  readonly id: string
  readonly kind: string
  /** What shares a concurrency limit; empty for kinds without lanes. */
  readonly lane: string
  /** When it may run. While a runner holds it, when its lease ends. */
  readonly dueAt: number
  /** The runner that holds it; null while nobody does. */
  readonly owner: string | null
  /** How often it was claimed. */
  readonly attempts: number
  readonly payload: string
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
  /** When the first of them failed; null when there is none. */
  readonly failingSince: number | null
  readonly disabledReason: string | null
  readonly disabledAt: number | null
  /** Sealed; of an empty text once deleted. */
  readonly secret: string
  /** The one before the last roll, sealed, while it still signs. */
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
  /** Attempts begun. */
  readonly attempts: number
  readonly lastStatus: number | null
  readonly lastError: string | null
  readonly lastDurationMs: number | null
  readonly lastAttemptAt: number | null
  /** Null when nothing more is planned, or while the endpoint is switched off. */
  readonly nextAttemptAt: number | null
  /** The bytes every attempt sends, from the first attempt to the last. */
  readonly body: string | null
  /** 1 for the newest delivery of its event to its endpoint. */
  readonly latest: number
  readonly createdAt: number
  readonly deliveredAt: number | null
}

export interface WebhookTables {
  jobs: JobRow
  webhookEndpoints: WebhookEndpointRow
  webhookDeliveries: WebhookDeliveryRow
}

/** Migration 0004: durable jobs, webhook endpoints and what is sent to them. */
export async function createWebhookTables(db: Kysely<unknown>): Promise<void> {
  const { schema } = db
  await schema
    .createTable('jobs')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('kind', 'text', (c) => c.notNull())
    .addColumn('lane', 'text', (c) => c.notNull())
    .addColumn('dueAt', 'bigint', (c) => c.notNull())
    .addColumn('owner', 'text')
    .addColumn('attempts', 'integer', (c) => c.notNull())
    .addColumn('payload', 'text', (c) => c.notNull())
    .addColumn('createdAt', 'bigint', (c) => c.notNull())
    .execute()
  await schema.createIndex('jobsDue').on('jobs').columns(['kind', 'lane', 'dueAt']).execute()
  await schema
    .createTable('webhookEndpoints')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('organizationId', 'text', (c) => c.notNull().references('organizations.id'))
    .addColumn('url', 'text', (c) => c.notNull())
    .addColumn('description', 'text')
    .addColumn('events', 'text', (c) => c.notNull())
    .addColumn('enabled', 'integer', (c) => c.notNull())
    .addColumn('consecutiveFailures', 'integer', (c) => c.notNull())
    .addColumn('failingSince', 'bigint')
    .addColumn('disabledReason', 'text')
    .addColumn('disabledAt', 'bigint')
    .addColumn('secret', 'text', (c) => c.notNull())
    .addColumn('previousSecret', 'text')
    .addColumn('previousValidUntil', 'bigint')
    .addColumn('createdAt', 'bigint', (c) => c.notNull())
    .addColumn('deletedAt', 'bigint')
    .execute()
  await schema
    .createIndex('webhookEndpointsList')
    .on('webhookEndpoints')
    .columns(['organizationId', 'createdAt', 'id'])
    .execute()
  await schema
    .createTable('webhookDeliveries')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('organizationId', 'text', (c) => c.notNull().references('organizations.id'))
    .addColumn('endpointId', 'text', (c) => c.notNull().references('webhookEndpoints.id'))
    .addColumn('eventId', 'text', (c) => c.notNull())
    .addColumn('type', 'text', (c) => c.notNull())
    .addColumn('environment', 'text')
    .addColumn('status', 'text', (c) => c.notNull())
    .addColumn('attempts', 'integer', (c) => c.notNull())
    .addColumn('lastStatus', 'integer')
    .addColumn('lastError', 'text')
    .addColumn('lastDurationMs', 'integer')
    .addColumn('lastAttemptAt', 'bigint')
    .addColumn('nextAttemptAt', 'bigint')
    .addColumn('body', 'text')
    .addColumn('latest', 'integer', (c) => c.notNull())
    .addColumn('createdAt', 'bigint', (c) => c.notNull())
    .addColumn('deliveredAt', 'bigint')
    .execute()
  await schema
    .createIndex('webhookDeliveriesList')
    .on('webhookDeliveries')
    .columns(['organizationId', 'environment', 'createdAt', 'id'])
    .execute()
  await schema
    .createIndex('webhookDeliveriesOfEndpoint')
    .on('webhookDeliveries')
    .columns(['endpointId', 'status', 'lastAttemptAt'])
    .execute()
  await schema.createIndex('webhookDeliveriesAge').on('webhookDeliveries').column('createdAt').execute()
  // One newest delivery per event and endpoint, whoever asks for another at the same moment.
  await sql
    .raw(
      `create unique index "webhookDeliveriesLatest" on "webhookDeliveries" ("eventId", "endpointId") where "latest" = 1`,
    )
    .execute(db)
  await schema.createIndex('eventsAge').on('events').column('createdAt').execute()
}
