import type { Kysely } from 'kysely'

/** Migration 0053: an index by which one statement finds when the first job of each kind is due. */
export async function indexJobsByKind({ schema }: Kysely<unknown>): Promise<void> {
  await schema.createIndex('jobsByKind').on('jobs').columns(['kind', 'dueAt']).execute()
}
