import type { Question } from '../../media/knowledge/passage-index.js'
import type { SearchJobs } from '../../workers/jobs/search-jobs.js'
import type { BaseToSearch, FoundInBase, KnowledgeSearch } from '../api/deps.js'
import type { Db } from '../db/database.js'
import type { ObjectStore } from '../objects/object-store.js'
import { indexKey, readObject } from './objects.js'

/** Opens the search over the indexes in the object store. */
export function openKnowledgeSearch(deps: {
  readonly db: Db
  readonly objects: ObjectStore
  readonly jobs: Pick<SearchJobs, 'search'>
}): KnowledgeSearch {
  const { db, objects, jobs } = deps

  async function searchOne(
    organizationId: string,
    base: BaseToSearch,
    question: Question,
    limit: number,
  ): Promise<readonly FoundInBase[]> {
    const found =
      (await searchBuild(base.id, base.buildId, question, limit)) ??
      // A newer build has replaced the one that the call began with.
      (await searchBuild(base.id, await servingBuild(organizationId, base.id), question, limit))
    return (found ?? []).map((passage) => ({ ...passage, knowledgeBaseId: base.id }))
  }

  async function searchBuild(baseId: string, buildId: string | null, question: Question, limit: number) {
    if (buildId === null) return null
    const key = indexKey(baseId, buildId)
    return jobs.search(key, question, limit, () => readObject(objects, key))
  }

  async function servingBuild(organizationId: string, id: string): Promise<string | null> {
    const row = await db
      .selectFrom('knowledgeBases')
      .select('servingBuildId')
      .where('organizationId', '=', organizationId)
      .where('id', '=', id)
      .executeTakeFirst()
    return row?.servingBuildId ?? null
  }

  return {
    async search(organizationId, bases, question, limit) {
      const found = await Promise.all(bases.map((base) => searchOne(organizationId, base, question, limit)))
      // The order within a base is that of its ranks. Between bases the share of the question decides.
      return found
        .flatMap((passages) => passages.map((passage, rank) => ({ passage, rank })))
        .sort((a, b) =>
          a.passage.knowledgeBaseId === b.passage.knowledgeBaseId
            ? a.rank - b.rank
            : b.passage.score - a.passage.score || a.rank - b.rank,
        )
        .slice(0, limit)
        .map(({ passage }) => passage)
    },
  }
}
