import type { Kysely } from 'kysely'

/** Migration 0057: where the telephone system of a trunk is registered. */
export async function addTrunkContacts({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .alterTable('sipTrunks')
    .addColumn('contacts', 'text', (c) => c.notNull().defaultTo('[]'))
    .execute()
}
