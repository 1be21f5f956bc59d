/*
 * Time of a build of 100 documents with 20 MiB of text in total, and time of searches over 4,000 passages with their
 * way to the search thread and back. `npm run build`, then `node dist/bench/knowledge/speed.js`.
 */
import { systemClock } from '../../media/base/clock.js'
import { silentLog } from '../../media/base/log.js'
import type { IndexedDocument } from '../../media/knowledge/passage-index.js'
import { DocumentJobs } from '../../workers/jobs/document-jobs.js'
import { SearchJobs } from '../../workers/jobs/search-jobs.js'
import { benchDocument, DOCUMENTS } from './bench-documents.js'
import { readQuestionSet } from './question-set.js'

const PASSAGES = 4000
const SEARCHES = 2000

const { questions } = readQuestionSet()

const jobs = new DocumentJobs({ clock: systemClock })
const startedAt = performance.now()
const read: IndexedDocument[] = []
for (let number = 0; number < DOCUMENTS; number++) {
  const outcome = await jobs.read('text/markdown', Buffer.from(benchDocument(number)))
  if (outcome.kind === 'passages')
    read.push({ id: `doc_${number}`, name: `${number}.md`, passages: outcome.passages })
}
const readAt = performance.now()
const passages = read.reduce((sum, document) => sum + document.passages.length, 0)
const index = await indexOf(read)
const builtAt = performance.now()
process.stdout.write(
  `${read.length} documents, ${passages} passages: read ${seconds(readAt - startedAt)} s, index ${seconds(builtAt - readAt)} s, ` +
    `together ${seconds(builtAt - startedAt)} s, ${(index.length / 1e6).toFixed(1)} MB\n`,
)

let left = PASSAGES
const some: IndexedDocument[] = read.map((document) => {
  const taken = document.passages.slice(0, left)
  left -= taken.length
  return { ...document, passages: taken }
})
const small = await indexOf(some)
await jobs.close()
const searches = new SearchJobs({ log: silentLog })
const load = () => Promise.resolve(small)
await searches.search('bench', { text: 'late fee' }, 4, load)
const times: number[] = []
for (let number = 0; number < SEARCHES; number++) {
  const text = questions[number % questions.length]?.text ?? ''
  const at = performance.now()
  await searches.search('bench', { text }, 4, load)
  times.push(performance.now() - at)
}
await searches.close()
times.sort((a, b) => a - b)
const at = (share: number) => (times[Math.floor(share * times.length)] ?? 0).toFixed(2)
process.stdout.write(`${PASSAGES} passages, ${SEARCHES} searches: p50 ${at(0.5)} ms, p99 ${at(0.99)} ms\n`)

async function indexOf(documents: readonly IndexedDocument[]): Promise<Uint8Array> {
  const built = await jobs.index(documents)
  if (built.kind === 'refused') throw new Error(built.reason)
  return built.bytes
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(1)
}
