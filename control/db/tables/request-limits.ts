import type { Kysely } from 'kysely'

/** Requests a minute of one organization and environment, where staff set them. */
export interface RequestLimitRow {
  readonly organizationId: string
  readonly environment: 'test' | 'live'
  readonly perMinute: number
}

export interface RequestLimitTables {
  requestLimits: RequestLimitRow
}

export async function createRequestLimits({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .createTable('requestLimits')
    .addColumn('organizationId', 'text', (c) => c.notNull().references('organizations.id'))
    .addColumn('environment', 'text', (c) => c.notNull())
    .addColumn('perMinute', 'integer', (c) => c.notNull())
    .addPrimaryKeyConstraint('requestLimitsKey', ['organizationId', 'environment'])
    .execute()
}
