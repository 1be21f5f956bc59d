import type { Kysely } from 'kysely'

/** Migration 0067: dials of a recipient in a row that this service could not start. */
export async function addUndoneDials({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .alterTable('campaignRecipients')
    .addColumn('undone', 'integer', (column) => column.notNull().defaultTo(0))
    .execute()
}
