import { type Kysely, sql } from 'kysely'

/** Migration 0077: an index of the checks of a call. */
export async function indexChecksOfCall({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .createIndex('checksOfCall')
    .on('checks')
    .columns(['organizationId', 'environment', 'callId'])
    .where(sql.ref('callId'), 'is not', null)
    .execute()
}
