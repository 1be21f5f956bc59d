import type { Kysely } from 'kysely'

/** Migration 0068: who published a version of an agent. Null for versions of earlier releases. */
export async function addVersionAuthors({ schema }: Kysely<unknown>): Promise<void> {
  await schema.alterTable('agentVersions').addColumn('createdByType', 'text').execute()
  await schema.alterTable('agentVersions').addColumn('createdById', 'text').execute()
}
