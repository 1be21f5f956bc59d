import type { Kysely } from 'kysely'

/**
 * Migration 0081: the amount that the telephone system of a customer may spend a day. Earlier trunks have no limit
 * until staff sets one.
 */
export async function addOriginationBudgets({ schema }: Kysely<unknown>): Promise<void> {
  await schema.alterTable('sipTrunks').addColumn('originationBudgetPaise', 'bigint').execute()
  await schema
    .createTable('originationDays')
    .addColumn('numberId', 'text', (c) => c.notNull().references('numbers.id'))
    .addColumn('day', 'text', (c) => c.notNull())
    .addColumn('calls', 'integer', (c) => c.notNull())
    .addColumn('fastAt', 'bigint')
    .addColumn('spentAt', 'bigint')
    .addPrimaryKeyConstraint('originationDaysKey', ['numberId', 'day'])
    .execute()
}
