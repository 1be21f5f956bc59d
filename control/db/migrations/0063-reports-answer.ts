import type { Kysely } from 'kysely'

/** Migration 0063: whether the carrier of a trunk reports the answer of a call. */
export async function addReportsAnswer({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .alterTable('sipTrunks')
    .addColumn('reportsAnswer', 'integer', (c) => c.notNull().defaultTo(1))
    .execute()
}
