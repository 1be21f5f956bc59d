import type { Kysely } from 'kysely'

/** Migration 0014: the request budgets that all processes share. */
export async function createRequestBudgets({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .createTable('requestBudgets')
    .addColumn('organizationId', 'text', (c) => c.notNull().references('organizations.id'))
    .addColumn('environment', 'text', (c) => c.notNull())
    .addColumn('fullAt', 'double precision', (c) => c.notNull())
    .addColumn('granted', 'double precision', (c) => c.notNull())
    .addPrimaryKeyConstraint('requestBudgetsKey', ['organizationId', 'environment'])
    .execute()
}
