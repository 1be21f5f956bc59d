import type { Db } from '../db/database.js'
import { UsageError } from './options.js'

/** Returns the id of the named organization, or of the first one. Throws UsageError when there is none. */
export async function findOrganization(db: Db, id: string | undefined): Promise<string> {
  let query = db.selectFrom('organizations').select('id').orderBy('createdAt').orderBy('id').limit(1)
  if (id !== undefined) query = query.where('id', '=', id)
  const found = (await query.executeTakeFirst())?.id
  if (found !== undefined) return found
  throw new UsageError(
    id === undefined
      ? 'the database is empty: run "parley start" once first'
      : `${id}: there is no such organization`,
  )
}
