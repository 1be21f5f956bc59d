import { type Kysely, sql } from 'kysely'

/** Migration 0041: the periods of use that were invoiced to organizations with receipt vouchers. */
export async function createUsePeriods(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('usePeriods')
    .addColumn('organizationId', 'text', (c) => c.notNull().references('organizations.id'))
    .addColumn('startsOn', 'text', (c) => c.notNull())
    .addColumn('endsBefore', 'text', (c) => c.notNull())
    .addColumn('lastSeq', 'bigint', (c) => c.notNull())
    .addColumn('givenBackPaise', 'bigint', (c) => c.notNull().check(sql`"givenBackPaise" >= 0`))
    .addColumn('closedAt', 'bigint', (c) => c.notNull())
    .addPrimaryKeyConstraint('usePeriodsKey', ['organizationId', 'startsOn'])
    .execute()
}
