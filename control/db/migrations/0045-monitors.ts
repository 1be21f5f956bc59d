import type { Kysely } from 'kysely'

/** Migration 0045: who listens to live calls or takes them over, and whether an organization allows it. */
export async function createCallMonitors({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .createTable('callMonitors')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('organizationId', 'text', (c) => c.notNull().references('organizations.id'))
    .addColumn('environment', 'text', (c) => c.notNull())
    .addColumn('callId', 'text', (c) => c.notNull().references('calls.id'))
    .addColumn('userId', 'text', (c) => c.notNull())
    .addColumn('mode', 'text', (c) => c.notNull())
    .addColumn('place', 'integer')
    .addColumn('createdAt', 'bigint', (c) => c.notNull())
    .addColumn('startedAt', 'bigint')
    .addColumn('endedAt', 'bigint')
    .addColumn('outcome', 'text')
    .addUniqueConstraint('callMonitorsPlace', ['callId', 'place'])
    .execute()
  for (const column of ['monitoringTest', 'monitoringLive'] as const) {
    await schema.alterTable('organizationProfiles').addColumn(column, 'text').execute()
  }
  await schema
    .alterTable('organizationProfiles')
    .addColumn('developersMonitor', 'integer', (c) => c.notNull().defaultTo(0))
    .execute()
}
