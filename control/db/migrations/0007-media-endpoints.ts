import type { Kysely } from 'kysely'

/** A number's media socket, JSON of byo/endpoint.ts `StoredEndpoint`; null without one. */
export async function createMediaEndpoints(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('numbers').addColumn('mediaEndpoint', 'text').execute()
}
