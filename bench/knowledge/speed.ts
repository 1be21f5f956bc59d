import { wordVector } from '../../fixtures/vendors/embedding-frames.js'
import { systemClock } from '../../media/base/clock.js'
import { silentLog } from '../../media/base/log.js'
import type { IndexedDocument } from '../../media/knowledge/passage-index.js'
import { modelText } from '../../media/knowledge/passages.js'
import { toBytes } from '../../media/knowledge/vectors.js'
import { DocumentJobs } from '../../workers/jobs/document-jobs.js'
import { SearchJobs } from '../../workers/jobs/search-jobs.js'
import { figure, type Measured } from '../lib/figures.js'
import type { Probe } from '../lib/host-probe.js'
import { judgedTimes, type Timed } from '../lib/judged-time.js'
import { maximum, percentile, rounded } from '../lib/statistics.js'
import { benchDocument, DOCUMENTS } from './bench-documents.js'
import { readQuestionSet } from './question-set.js'

const PASSAGES = 4000
const SEARCHES = 1000
const SEARCH_IDS = ['K_search', 'K_search@embeddings'] as const
export const KNOWLEDGE_SEARCH_IDS: readonly string[] = SEARCH_IDS

/**
 * Measures searches over 4,000 passages with their way to the search thread and back (ms): by words, and by words and
 * vectors, which are fake but as long as those of the tests' vendor.
 */
export async function measureKnowledgeSearch(probe: Probe): Promise<Measured[]> {
  const jobs = new DocumentJobs({ clock: systemClock })
  const searches = new SearchJobs({ log: silentLog })
  try {
    const documents = await passagesOf(jobs)
    const texts = readQuestionSet().questions.map(({ text }) => text)
    const figures: Measured[] = []
    for (const id of SEARCH_IDS) {
      const byMeaning = id === 'K_search@embeddings'
      const built = await jobs.index('bench', documents, byMeaning ? { vectors: vectorsOf(documents) } : {})
      if (built.kind === 'refused') throw new Error(built.reason)
      const search = (text: string) => {
        const vector = byMeaning ? toBytes(wordVector(text)) : null
        return searches.search(id, { text, vector }, 4, async () => built.bytes)
      }
      await search('late fee')
      await probe.begin()
      const timed: Timed[] = []
      for (let number = 0; number < SEARCHES; number++) {
        const text = texts[number % texts.length] ?? ''
        const atMs = systemClock.now()
        await search(text)
        timed.push({ atMs, ms: systemClock.now() - atMs })
      }
      const { late } = await probe.judge()
      const times = judgedTimes(late, timed)
      const values = {
        p50: rounded(percentile(times, 0.5)),
        p99: rounded(percentile(times, 0.99)),
        max: rounded(maximum(times)),
        n: times.length,
      }
      figures.push(figure(id, values, { passages: PASSAGES, indexBytes: built.bytes.length }))
    }
    return figures
  } finally {
    await jobs.close()
    await searches.close()
  }
}

/** Reads documents of the bench until they have `PASSAGES` passages. */
async function passagesOf(jobs: DocumentJobs): Promise<readonly IndexedDocument[]> {
  const documents: IndexedDocument[] = []
  let left = PASSAGES
  for (let number = 0; number < DOCUMENTS && left > 0; number++) {
    const outcome = await jobs.read('bench', 'text/markdown', Buffer.from(benchDocument(number)))
    if (outcome.kind !== 'passages') continue
    const passages = outcome.passages.slice(0, left)
    left -= passages.length
    documents.push({ id: `doc_${number}`, name: `${number}.md`, passages })
  }
  return documents
}

function vectorsOf(documents: readonly IndexedDocument[]) {
  const rows = documents.flatMap(({ name, passages }) =>
    passages.map((passage) => toBytes(wordVector(modelText(name, passage)))),
  )
  const dimensions = rows[0]?.length ?? 0
  const bytes = new Int8Array(rows.length * dimensions)
  for (const [row, vector] of rows.entries()) bytes.set(vector, row * dimensions)
  return { model: 'words', dimensions, bytes }
}
