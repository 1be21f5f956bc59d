/*
 * Quality of the search on the project's own questions: recall at 5 and mean reciprocal rank at 5 for each kind of
 * question, beside plain BM25 over words as `\p{L}\p{N}` cuts them. `npm run build`, then
 * `node dist/bench/knowledge/quality.js`.
 */
import MiniSearch from 'minisearch'
import { MIN_SCORE } from '../../media/agent/llm/retrieval.js'
import { buildIndex, type IndexedDocument, PassageIndex } from '../../media/knowledge/passage-index.js'
import { readQuestionSet, type TestQuestion } from './question-set.js'

interface Place {
  readonly documentId: string
  readonly index: number
}
type Search = (question: string) => readonly Place[]

const PLAIN_WORDS = /[\p{L}\p{N}]+/gu

function plainBm25(documents: readonly IndexedDocument[]): Search {
  const places: Place[] = []
  const index = new MiniSearch({
    fields: ['text'],
    tokenize: (text) => text.toLowerCase().match(PLAIN_WORDS) ?? [],
    processTerm: (term) => term,
  })
  for (const { id, name, passages } of documents) {
    for (const [position, { text, heading }] of passages.entries()) {
      index.add({ id: places.length, text: `${name} ${heading} ${text}` })
      places.push({ documentId: id, index: position })
    }
  }
  return (question) => index.search(question, { combineWith: 'OR' }).flatMap(({ id }) => places[id] ?? [])
}

function rankOf(found: readonly Place[], { documentId, index }: TestQuestion): number {
  return found.slice(0, 5).findIndex((place) => place.documentId === documentId && place.index === index) + 1
}

/** Returns recall and mean reciprocal rank. */
function figuresOf(asked: readonly TestQuestion[], search: Search): readonly [number, number] {
  const ranks = asked.map((question) => rankOf(search(question.text), question))
  const recall = ranks.filter((rank) => rank > 0).length / asked.length
  const mrr = ranks.reduce((sum, rank) => sum + (rank > 0 ? 1 / rank : 0), 0) / asked.length
  return [recall, mrr]
}

const { documents, questions } = readQuestionSet()
const index = new PassageIndex(buildIndex(documents))
const ours: Search = (text) => index.search({ text }, 5)
const baseline = plainBm25(documents)
const answered = questions.filter(({ kind }) => kind !== 'none')
const groups = new Map<string, TestQuestion[]>()
for (const question of answered) {
  const { kind, language } = question
  const name = kind === 'mixed' || kind === 'misspelt' ? `${kind} ${language}` : kind
  groups.set(name, [...(groups.get(name) ?? []), question])
}
process.stdout.write(
  '| Questions | Count | Recall@5 | MRR@5 | BM25 recall@5 | BM25 MRR@5 |\n|---|---|---|---|---|---|\n',
)
for (const [name, asked] of groups) {
  const figures = [...figuresOf(asked, ours), ...figuresOf(asked, baseline)].map((value) => value.toFixed(2))
  process.stdout.write(`| ${name} | ${asked.length} | ${figures.join(' | ')} |\n`)
}
const answers = ({ text }: TestQuestion) => index.search({ text }, 4).some(({ score }) => score >= MIN_SCORE)
const refused = questions.filter((question) => question.kind === 'none' && !answers(question))
const accepted = answered.filter(answers)
process.stdout.write(
  `| none refused | ${questions.length - answered.length} | ${refused.length} | | | |\n` +
    `| answered ones with a passage above ${MIN_SCORE} | ${answered.length} | ${accepted.length} | | | |\n`,
)
if (process.argv.includes('--misses')) {
  for (const question of answered) {
    if (rankOf(ours(question.text), question) === 0)
      process.stdout.write(`${question.kind} ${question.language}: ${question.text}\n`)
  }
}
