import type { Kysely } from 'kysely'

/** Migration 0037: campaigns that resume after carrier errors. */
export async function addCampaignBreaker({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .alterTable('campaigns')
    .addColumn('breakerTrips', 'integer', (c) => c.notNull().defaultTo(0))
    .execute()
  await schema.alterTable('campaigns').addColumn('resumesAt', 'bigint').execute()
}
