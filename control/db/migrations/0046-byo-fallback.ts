import type { Kysely } from 'kysely'

/** Migration 0046: the agent that takes a call over when the customer's bot is lost. */
export async function addByoFallback({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .alterTable('numbers')
    .addColumn('byoFallback', 'text', (c) => c.notNull().defaultTo('hangup'))
    .execute()
  await schema.alterTable('calls').addColumn('agentTookOverAt', 'bigint').execute()
  await schema.alterTable('calls').addColumn('agentRatePaisePerMinute', 'bigint').execute()
}
