import { type Kysely, sql } from 'kysely'

/** Migration 0015: recordings are kept in the object store, under keys instead of file names. */
export async function addRecordingKeys(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('recordings').renameColumn('file', 'key').execute()
  await sql`update "recordings" set "key" = 'recordings/' || "key"`.execute(db)
}
