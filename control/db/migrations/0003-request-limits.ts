import type { Kysely } from 'kysely'

/** Migration 0003: request limits set by staff. */
export async function createRequestLimits({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .createTable('requestLimits')
    .addColumn('organizationId', 'text', (c) => c.notNull().references('organizations.id'))
    .addColumn('environment', 'text', (c) => c.notNull())
    .addColumn('perMinute', 'integer', (c) => c.notNull())
    .addPrimaryKeyConstraint('requestLimitsKey', ['organizationId', 'environment'])
    .execute()
}
