import type { Log } from '../../media/base/log.js'
import type { Question } from '../../media/knowledge/passage-index.js'
import type { FoundInIndex, SearchJobs } from '../../workers/jobs/search-jobs.js'
import type { BaseToSearch, FoundInBase, KnowledgeSearch } from '../api/deps.js'
import type { Db } from '../db/database.js'
import type { ObjectStore } from '../objects/object-store.js'
import { readObject } from '../objects/whole-object.js'
import { indexKey } from './objects.js'
import type { QuestionVectors } from './question-vectors.js'

/** Bases whose model was reported. More are not worth the memory. */
const MAX_REPORTED = 1000

interface FoundOfBase {
  readonly base: BaseToSearch
  /** The build that was searched: the one of the base, or a newer one. */
  readonly found: FoundInIndex
}

/** Opens the search over the indexes in the object store, by words and, with `vectors`, by meaning. */
export function openKnowledgeSearch(deps: {
  readonly db: Db
  readonly objects: ObjectStore
  readonly jobs: Pick<SearchJobs, 'search'>
  readonly log: Log
  readonly vectors: QuestionVectors | null
}): KnowledgeSearch {
  const { db, objects, jobs, log, vectors } = deps
  const reported = new Set<string>()

  async function searchOne(
    organizationId: string,
    base: BaseToSearch,
    question: Question,
    limit: number,
  ): Promise<FoundOfBase | null> {
    const found =
      (await searchBuild(base.id, base.buildId, question, limit)) ??
      // A newer build has replaced the one that the call began with.
      (await searchBuild(base.id, await servingBuild(organizationId, base.id), question, limit))
    return found === null ? null : { base, found }
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

  async function searchAll(
    organizationId: string,
    bases: readonly BaseToSearch[],
    question: Question,
    limit: number,
  ): Promise<readonly FoundOfBase[]> {
    const found = await Promise.all(bases.map((base) => searchOne(organizationId, base, question, limit)))
    return found.filter((one) => one !== null)
  }

  /** A build keeps its vectors when the model of the settings changes, and is searched by words until the next build. */
  function hasVectors({ base, found: { vectorModel } }: FoundOfBase): boolean {
    if (vectorModel === null || vectors === null) return false
    if (vectorModel === vectors.model) return true
    if (!reported.has(base.buildId) && reported.size < MAX_REPORTED) {
      reported.add(base.buildId)
      log.warn(
        { knowledgeBaseId: base.id, buildModel: vectorModel, model: vectors.model },
        'knowledge.vectors_of_another_model',
      )
    }
    return false
  }

  return {
    async search(organizationId, bases, question, { limit, vectorsMs }) {
      const asked = vectors !== null && vectorsMs > 0 ? vectors.of(question, vectorsMs) : null
      const byWords = await searchAll(organizationId, bases, question, limit)
      const withVectors = byWords.filter(hasVectors)
      if (withVectors.length === 0) return { passages: merged(byWords, limit), vectors: 'none' }
      const vector = asked === null ? (vectors?.near(question) ?? null) : await asked
      if (vector === null) {
        return { passages: merged(byWords, limit), vectors: asked === null ? 'possible' : 'failed' }
      }
      const again = withVectors.map(({ base }) => base)
      const byMeaning = await searchAll(organizationId, again, { ...question, vector }, limit)
      const rest = byWords.filter((one) => !withVectors.includes(one))
      return { passages: merged([...rest, ...byMeaning], limit), vectors: asked === null ? 'near' : 'used' }
    },
  }
}

/** Merges the lists of bases: the order within a base stays, and the best of those that are next comes first. */
function merged(found: readonly FoundOfBase[], limit: number): readonly FoundInBase[] {
  const lists = found.map(({ base, found: { passages } }) =>
    passages.map((passage) => ({ ...passage, knowledgeBaseId: base.id })),
  )
  const all: FoundInBase[] = []
  while (all.length < limit) {
    const next = lists.reduce((best, list) => {
      return (list[0]?.score ?? -1) > (best[0]?.score ?? -1) ? list : best
    }, [])
    const passage = next.shift()
    if (passage === undefined) break
    all.push(passage)
  }
  return all
}
