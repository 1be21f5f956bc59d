import type { Kysely } from 'kysely'

/** Migration 0007: media endpoint of a number, JSON of byo/endpoint.ts `StoredEndpoint`, or null. */
export async function createMediaEndpoints(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('numbers').addColumn('mediaEndpoint', 'text').execute()
}
