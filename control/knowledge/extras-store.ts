import type { Db, Trx } from '../db/database.js'
import type { KnowledgeExtraRow } from '../db/tables/knowledge.js'

/** Rows of one statement. SQLite and PostgreSQL limit its parameters. */
const BATCH = 500

type Kind = Pick<KnowledgeExtraRow, 'knowledgeBaseId' | 'kind' | 'model'>

/** Loads what a model made for passages of a base, by hash. Other work goes on between the batches. */
export async function loadExtras(
  db: Db,
  { knowledgeBaseId, kind, model }: Kind,
): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>()
  for (let after = ''; ; ) {
    const rows = await db
      .selectFrom('knowledgeExtras')
      .select(['hash', 'value'])
      .where('knowledgeBaseId', '=', knowledgeBaseId)
      .where('kind', '=', kind)
      .where('model', '=', model)
      .where('hash', '>', after)
      .orderBy('hash')
      .limit(BATCH)
      .execute()
    for (const { hash, value } of rows) found.set(hash, value)
    if (rows.length < BATCH) return found
    after = rows.at(-1)?.hash ?? ''
    await new Promise((resolve) => setImmediate(resolve))
  }
}

/** Stores what a model made, unless it is stored already. */
export async function storeExtras(
  trx: Trx,
  kind: Kind,
  made: readonly (readonly [hash: string, value: string])[],
): Promise<void> {
  if (made.length === 0) return
  await trx
    .insertInto('knowledgeExtras')
    .values(made.map(([hash, value]) => ({ ...kind, hash, value })))
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}

/** Deletes what belongs to passages that are gone, and what other models made. */
export async function pruneExtras(
  trx: Trx,
  { knowledgeBaseId, kind, model }: Kind,
  keep: ReadonlySet<string>,
): Promise<void> {
  const own = trx
    .selectFrom('knowledgeExtras')
    .where('knowledgeBaseId', '=', knowledgeBaseId)
    .where('kind', '=', kind)
  await trx
    .deleteFrom('knowledgeExtras')
    .where('knowledgeBaseId', '=', knowledgeBaseId)
    .where('kind', '=', kind)
    .where('model', '!=', model)
    .execute()
  const stored = await own.select('hash').execute()
  const gone = stored.map(({ hash }) => hash).filter((hash) => !keep.has(hash))
  for (let at = 0; at < gone.length; at += BATCH) {
    await trx
      .deleteFrom('knowledgeExtras')
      .where('knowledgeBaseId', '=', knowledgeBaseId)
      .where('kind', '=', kind)
      .where('hash', 'in', gone.slice(at, at + BATCH))
      .execute()
  }
}
