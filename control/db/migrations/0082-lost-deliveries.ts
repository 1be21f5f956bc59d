import { type Kysely, sql } from 'kysely'

/** Migration 0082: an index of the events that an endpoint did not get. */
export async function indexLostDeliveries({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .createIndex('webhookDeliveriesLost')
    .on('webhookDeliveries')
    .columns(['organizationId', 'createdAt', 'id'])
    // The values are in the text, because a partial index has no bound ones.
    .where(sql<boolean>`"status" = 'failed' and "latest" = 1`)
    .execute()
}
