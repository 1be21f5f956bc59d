import type { Kysely } from 'kysely'

/** Migration 0062: campaigns that wait for a trunk that cannot be reached at the moment. */
export async function addUnreachableTargets({ schema }: Kysely<unknown>): Promise<void> {
  await schema.alterTable('campaigns').addColumn('unreachableSince', 'bigint').execute()
}
