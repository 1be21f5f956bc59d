import type { Kysely } from 'kysely'

/** Migration 0069: the cause of the hang-up that was requested for a call. Null in rows of earlier releases, whose calls end at once. */
export async function addHangupCauses({ schema }: Kysely<unknown>): Promise<void> {
  await schema.alterTable('calls').addColumn('hangupCause', 'text').execute()
}
