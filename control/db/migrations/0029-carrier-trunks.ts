import type { Kysely } from 'kysely'

/** Migration 0029: the carrier whose numbers a trunk serves. */
export async function addCarrierTrunks({ schema }: Kysely<unknown>): Promise<void> {
  await schema.alterTable('sipTrunks').addColumn('carrier', 'text').execute()
}
