import type { Kysely } from 'kysely'

/** Migration 0032: the SIP Call-ID of the leg to a person, by which carriers know it. */
export async function addTransferLegs({ schema }: Kysely<unknown>): Promise<void> {
  await schema.alterTable('transferAttempts').addColumn('sipCallId', 'text').execute()
  await schema.createIndex('transferAttemptsLeg').on('transferAttempts').column('sipCallId').execute()
}
