import { type Kysely, sql } from 'kysely'

/** Migration 0004: jobs, webhook endpoints and deliveries. */
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
  // Enforces one latest delivery per event and endpoint, even with concurrent redeliveries.
  await sql
    .raw(
      `create unique index "webhookDeliveriesLatest" on "webhookDeliveries" ("eventId", "endpointId") where "latest" = 1`,
    )
    .execute(db)
  await schema.createIndex('eventsAge').on('events').column('createdAt').execute()
}
