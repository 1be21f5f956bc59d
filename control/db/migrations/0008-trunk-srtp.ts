import type { Kysely } from 'kysely'

/** Migration 0008: media protection of trunks. */
export async function addTrunkSrtp({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .alterTable('sipTrunks')
    .addColumn('srtp', 'text', (c) => c.notNull().defaultTo('optional'))
    .execute()
}
