/*
 * Quality of the search on two sets of questions of the project: recall at 5 and mean reciprocal rank at 5 for each kind of
 * question, beside plain BM25 over words as `\p{L}\p{N}` cuts them. With PARLEY_EMBEDDINGS_MODEL the vectors are those of
 * this model; without it they are fake and prove the path, not the quality. `npm run build`, then
 * `node dist/bench/knowledge/quality.js`.
 */
import MiniSearch from 'minisearch'
import { readEnvironment, readSettings } from '../../control/config/settings.js'
import { wordVector } from '../../fixtures/vendors/embedding-frames.js'
import { MIN_SCORE } from '../../media/agent/llm/retrieval.js'
import { systemClock } from '../../media/base/clock.js'
import { buildIndex, type IndexedDocument, PassageIndex } from '../../media/knowledge/passage-index.js'
import { modelText } from '../../media/knowledge/passages.js'
import { soundOf } from '../../media/knowledge/sound.js'
import { type PassageVectors, toBytes } from '../../media/knowledge/vectors.js'
import { wordsOf } from '../../media/knowledge/words.js'
import { type Embedder, MAX_TEXTS, openEmbedder } from '../../media/vendors/openai/embeddings.js'
import { QUESTION_SETS, type QuestionSetFile, readQuestionSet, type TestQuestion } from './question-set.js'

interface Place {
  readonly documentId: string
  readonly index: number
}
type Search = (question: string) => readonly Place[]

const PLAIN_WORDS = /[\p{L}\p{N}]+/gu

/** Vectors of the sounds of words. A real model knows what words mean. */
const WORD_VECTORS: Embedder = {
  id: 'words',
  deadlineMs: 1000,
  async embed(_kind, texts) {
    const sounds = texts.map((text) =>
      wordsOf(text)
        .map((word) => soundOf(word) ?? word)
        .join(' '),
    )
    return { vectors: sounds.map((text) => toBytes(wordVector(text))), tokens: 0 }
  },
}

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

const fromServer = embedderOfSettings()
const embedder = fromServer ?? WORD_VECTORS
process.stdout.write(
  `Vectors: ${fromServer === null ? 'fake, by hashes of words and sounds' : embedder.id}\n`,
)
for (const file of QUESTION_SETS) await printFigures(file)

async function printFigures(file: QuestionSetFile): Promise<void> {
  const { documents, questions } = readQuestionSet(file)
  const index = new PassageIndex(buildIndex(documents))
  const ours: Search = (text) => index.search({ text }, 5)
  const vectorsOf = await embedAll(embedder, documents, questions)
  const withVectors = new PassageIndex(
    buildIndex(documents, { vectors: packed(embedder, documents, vectorsOf) }),
  )
  const byMeaning: Search = (text) => withVectors.search({ text, vector: vectorsOf.get(text) ?? null }, 5)
  const baseline = plainBm25(documents)
  const answered = questions.filter(({ kind }) => kind !== 'none')
  process.stdout.write(
    `\n${file}: ${documents.length} documents, ${questions.length} questions\n` +
      '| Questions | Count | Recall@5 | MRR@5 | with vectors: recall@5 | MRR@5 | BM25 recall@5 | MRR@5 |\n' +
      '|---|---|---|---|---|---|---|---|\n',
  )
  for (const [name, asked] of [...groupsOf(answered), ['all', answered] as const]) {
    const figures = [ours, byMeaning, baseline].flatMap((search) => figuresOf(asked, search))
    const cells = figures.map((value) => value.toFixed(2)).join(' | ')
    process.stdout.write(`| ${name} | ${asked.length} | ${cells} |\n`)
  }
  const answers =
    (used: PassageIndex) =>
    ({ text }: TestQuestion) =>
      used
        .search({ text, vector: used === withVectors ? (vectorsOf.get(text) ?? null) : null }, 4)
        .some(({ score }) => score >= MIN_SCORE)
  for (const [label, used] of [
    ['words', index],
    ['with vectors', withVectors],
  ] as const) {
    const refused = questions.filter((question) => question.kind === 'none' && !answers(used)(question))
    const accepted = answered.filter(answers(used))
    process.stdout.write(
      `${label}: ${refused.length} of ${questions.length - answered.length} questions without an answer are refused, ` +
        `${accepted.length} of ${answered.length} others have a passage above ${MIN_SCORE}\n`,
    )
  }
  if (process.argv.includes('--misses')) {
    for (const question of answered) {
      if (rankOf(ours(question.text), question) === 0)
        process.stdout.write(`${question.kind} ${question.language}: ${question.text}\n`)
    }
  }
}

/** Returns the questions by their kind, and by the language of the document unless the kind is this language. */
function groupsOf(answered: readonly TestQuestion[]): ReadonlyMap<string, readonly TestQuestion[]> {
  const groups = new Map<string, TestQuestion[]>()
  for (const question of answered) {
    const { kind, language } = question
    const name = kind === language ? kind : `${kind} ${language}`
    groups.set(name, [...(groups.get(name) ?? []), question])
  }
  return groups
}

function embedderOfSettings(): Embedder | null {
  const { embeddings } = readSettings(readEnvironment(process.cwd()), process.cwd()).knowledge
  return embeddings === null ? null : openEmbedder(embeddings, { clock: systemClock })
}

/** Returns the vectors of all passages and questions, by their text. */
async function embedAll(
  model: Embedder,
  documents: readonly IndexedDocument[],
  questions: readonly TestQuestion[],
): Promise<ReadonlyMap<string, Int8Array>> {
  const { signal } = new AbortController()
  const found = new Map<string, Int8Array>()
  const passages = documents.flatMap(({ name, passages: own }) =>
    own.map((passage) => modelText(name, passage)),
  )
  for (const [kind, texts] of [
    ['passage', passages],
    ['question', questions.map(({ text }) => text)],
  ] as const) {
    for (let at = 0; at < texts.length; at += MAX_TEXTS) {
      const batch = texts.slice(at, at + MAX_TEXTS)
      const { vectors } = await model.embed(kind, batch, signal)
      for (const [position, vector] of vectors.entries()) found.set(batch[position] ?? '', vector)
    }
  }
  return found
}

function packed(
  model: Embedder,
  documents: readonly IndexedDocument[],
  vectors: ReadonlyMap<string, Int8Array>,
): PassageVectors {
  const rows = documents.flatMap(({ name, passages }) =>
    passages.map((passage) => vectors.get(modelText(name, passage)) ?? new Int8Array()),
  )
  const bytes = Int8Array.from(rows.flatMap((row) => [...row]))
  return { model: model.id, dimensions: rows[0]?.length ?? 0, bytes }
}
