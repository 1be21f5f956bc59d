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
import { figure, type Measured, part } from '../lib/figures.js'
import { rounded } from '../lib/statistics.js'
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

/** The rankings that are compared: of words and sounds, with vectors besides, and plain BM25. */
const RANKINGS = ['ours', 'vectors', 'bm25'] as const
type Ranking = (typeof RANKINGS)[number]

/** Recall at 5 and mean reciprocal rank at 5 of one group of questions. */
export interface GroupQuality {
  readonly name: string
  readonly count: number
  readonly figures: Readonly<Record<Ranking, readonly [recall: number, mrr: number]>>
}

export interface SetQuality {
  readonly documents: number
  readonly questions: number
  /** By kind and language, and `all`. */
  readonly groups: readonly GroupQuality[]
  /** By words and with vectors: questions without an answer that are refused, and others with a passage above the least score. */
  readonly verdicts: readonly {
    readonly label: string
    readonly refused: number
    readonly accepted: number
  }[]
  /** Questions whose passage the own ranking misses. */
  readonly misses: readonly TestQuestion[]
}

/** Searches one set of questions with each ranking, or only the documents of one language for questions in it. */
export async function qualityOf(
  file: QuestionSetFile,
  embedder: Embedder = configuredEmbedder() ?? WORD_VECTORS,
  only: string | null = null,
): Promise<SetQuality> {
  const set = readQuestionSet(file)
  const questions = set.questions.filter(({ language }) => only === null || language === only)
  const ids = new Set(questions.map(({ documentId }) => documentId))
  const documents = set.documents.filter(({ id }) => only === null || ids.has(id))
  const index = new PassageIndex(buildIndex(documents))
  const vectorsOf = await embedAll(embedder, documents, questions)
  const withVectors = new PassageIndex(
    buildIndex(documents, { vectors: packed(embedder, documents, vectorsOf) }),
  )
  const searches: Readonly<Record<Ranking, Search>> = {
    ours: (text) => index.search({ text }, 5),
    vectors: (text) => withVectors.search({ text, vector: vectorsOf.get(text) ?? null }, 5),
    bm25: plainBm25(documents),
  }
  const answered = questions.filter(({ kind }) => kind !== 'none')
  const groups = [...groupsOf(answered), ['all', answered] as const].map(([name, asked]) => ({
    name,
    count: asked.length,
    figures: {
      ours: figuresOf(asked, searches.ours),
      vectors: figuresOf(asked, searches.vectors),
      bm25: figuresOf(asked, searches.bm25),
    },
  }))
  const answers =
    (used: PassageIndex) =>
    ({ text }: TestQuestion) =>
      used
        .search({ text, vector: used === withVectors ? (vectorsOf.get(text) ?? null) : null }, 4)
        .some(({ score }) => score >= MIN_SCORE)
  const verdicts = (
    [
      ['words', index],
      ['with vectors', withVectors],
    ] as const
  ).map(([label, used]) => ({
    label,
    refused: questions.filter((question) => question.kind === 'none' && !answers(used)(question)).length,
    accepted: answered.filter(answers(used)).length,
  }))
  const misses = answered.filter((question) => rankOf(searches.ours(question.text), question) === 0)
  return { documents: documents.length, questions: questions.length, groups, verdicts, misses }
}

/** Kinds of questions with a target of their own, of which all languages are one figure. */
const KINDS: readonly string[] = ['mixed', 'misspelt', 'heard', 'code', 'cross']

export const KNOWLEDGE_QUALITY_IDS: readonly string[] = ['K_recall', 'K_mrr'].flatMap((id) => [
  ...['en', 'hi', 'ta', 'bn', ...KINDS].map((name) => `${id}@${name}`),
  `${id}@independent`,
])

/**
 * Measures recall at 5 and mean reciprocal rank at 5 on the sets of questions: a figure for each language and kind over
 * both sets, and one for the whole set of other hands. Beside each stand those with vectors and those of plain BM25.
 */
export async function measureKnowledgeQuality(say: (line: string) => void): Promise<Measured[]> {
  const sets = await Promise.all(QUESTION_SETS.map(async (file) => ({ file, ...(await qualityOf(file)) })))
  for (const set of sets) say(qualityTable(set.file, set))
  const wanted = new Map<string, GroupQuality[]>()
  for (const { file, groups } of sets) {
    for (const group of groups) {
      const [kind = ''] = group.name.split(' ')
      const name = kind === 'all' ? (file === 'independent-set.txt' ? 'independent' : null) : kind
      if (name !== null) wanted.set(name, [...(wanted.get(name) ?? []), group])
    }
  }
  const model = configuredEmbedder()
  return [...wanted].flatMap(([name, groups]) =>
    (['K_recall', 'K_mrr'] as const).flatMap((id, at) => {
      const n = groups.reduce((sum, { count }) => sum + count, 0)
      const mean = (ranking: Ranking): number =>
        groups.reduce((sum, { count, figures }) => sum + count * (figures[ranking][at] ?? 0), 0) / n
      const vectors = model?.id ?? 'fake'
      // A Hindi question finds an English passage only with a model.
      const judged = name === 'cross' && model === null ? part : figure
      const best: Ranking = name === 'cross' ? 'vectors' : 'ours'
      return [
        judged(`${id}@${name}`, { value: rounded(mean(best)), n }, { vectors, ranking: best }),
        ...RANKINGS.filter((ranking) => ranking !== best).map((ranking) =>
          part(`${id}@${name}-${ranking}`, { value: rounded(mean(ranking)), n }, { vectors, ranking }),
        ),
      ]
    }),
  )
}

/** Formats the quality of a set as a table. */
export function qualityTable(file: string, { documents, questions, groups, verdicts }: SetQuality): string {
  const answered = groups.find(({ name }) => name === 'all')?.count ?? 0
  return [
    `\n${file}: ${documents} documents, ${questions} questions`,
    '| Questions | Count | Recall@5 | MRR@5 | with vectors: recall@5 | MRR@5 | BM25 recall@5 | MRR@5 |',
    '|---|---|---|---|---|---|---|---|',
    ...groups.map(({ name, count, figures }) => {
      const cells = RANKINGS.flatMap((ranking) => figures[ranking]).map((value) => value.toFixed(2))
      return `| ${name} | ${count} | ${cells.join(' | ')} |`
    }),
    ...verdicts.map(
      ({ label, refused, accepted }) =>
        `${label}: ${refused} of ${questions - answered} questions without an answer are refused, ` +
        `${accepted} of ${answered} others have a passage above ${MIN_SCORE}`,
    ),
  ].join('\n')
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

/** Returns the model of the settings, or null: then the vectors are fake and prove the path, not the quality. */
export function configuredEmbedder(): Embedder | null {
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
