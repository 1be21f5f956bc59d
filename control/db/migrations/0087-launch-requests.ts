import type { Kysely } from 'kysely'

/** Migration 0087: the request that launched a campaign, whose answer may have been lost. */
export async function addLaunchRequests({ schema }: Kysely<unknown>): Promise<void> {
  await schema.alterTable('campaigns').addColumn('launchRequestId', 'text').execute()
}
