import type { Kysely } from 'kysely'

/** Migration 0072: the attempts of a webhook delivery, as JSON. */
export async function addDeliveryAttempts({ schema }: Kysely<unknown>): Promise<void> {
  await schema.alterTable('webhookDeliveries').addColumn('attemptLog', 'text').execute()
}
