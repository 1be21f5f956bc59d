import type { Db } from '../db/database.js'
import type { ObjectStore } from '../objects/object-store.js'
import { KNOWLEDGE_KEYS } from './objects.js'

/** Younger objects may belong to a build that runs. */
const ORPHAN_MS = 24 * 3_600_000
const BATCH = 100

/**
 * Deletes documents whose upload was swept without its bytes, and objects that belong to no document and to no build
 * that serves or runs. Returns true if there may be more.
 */
export async function sweepKnowledge(db: Db, now: number, objects: ObjectStore): Promise<boolean> {
  await db
    .deleteFrom('knowledgeDocuments')
    .where('id', 'in', (query) =>
      query
        .selectFrom('knowledgeDocuments as document')
        .leftJoin('uploads', 'uploads.id', 'document.uploadId')
        .where('uploads.id', 'is', null)
        .select('document.id')
        .limit(BATCH),
    )
    .execute()
  let deleted = 0
  for await (const { key, modifiedAt } of objects.list(KNOWLEDGE_KEYS)) {
    if (modifiedAt > now - ORPHAN_MS || (await isUsed(db, key))) continue
    await objects.delete(key)
    if (++deleted === BATCH) return true
  }
  return false
}

async function isUsed(db: Db, key: string): Promise<boolean> {
  const build = /\/(bld_\w+)\.index$/.exec(key)?.[1]
  if (build !== undefined) {
    const base = await db
      .selectFrom('knowledgeBases')
      .select('id')
      .where((column) =>
        column.or([column('servingBuildId', '=', build), column('latestBuildId', '=', build)]),
      )
      .executeTakeFirst()
    return base !== undefined
  }
  const document = /\/(doc_\w+)\./.exec(key)?.[1] ?? ''
  const row = await db
    .selectFrom('knowledgeDocuments')
    .select('id')
    .where('id', '=', document)
    .where('textKey', '=', key)
    .executeTakeFirst()
  return row !== undefined
}
