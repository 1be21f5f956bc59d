import type { Kysely } from 'kysely'

/** Migration 0013: the second subject of an event, for example the transfer of a call. */
export async function addSecondSubject({ schema }: Kysely<unknown>): Promise<void> {
  await schema.alterTable('events').addColumn('secondSubjectId', 'text').execute()
}
