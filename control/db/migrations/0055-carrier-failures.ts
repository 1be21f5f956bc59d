import { type Kysely, sql } from 'kysely'

/** Migration 0055: an index of the calls of campaigns that failed because of the carrier, for the breaker. */
export async function indexCarrierFailures({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .createIndex('callsCarrierFailed')
    .on('calls')
    .columns(['campaignId', 'createdAt'])
    .where(sql.ref('carrierFailed'), '=', sql.lit(1))
    .execute()
}
