import type { Kysely } from 'kysely'

/** Migration 0066: the process that registers a trunk at its carrier, and the end of its lease. */
export async function addRegisteringProcess({ schema }: Kysely<unknown>): Promise<void> {
  await schema.alterTable('sipTrunks').addColumn('registeredBy', 'text').execute()
  await schema
    .alterTable('sipTrunks')
    .addColumn('registeredUntil', 'bigint', (c) => c.notNull().defaultTo(0))
    .execute()
}
