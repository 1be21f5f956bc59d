import MiniSearch, { type AsPlainObject, type SearchResult } from 'minisearch'
import { FUNCTION_WORDS } from './function-words.js'
import type { Passage } from './passages.js'
import { soundOf } from './sound.js'
import { type PassageVectors, VectorList } from './vectors.js'
import { earlierStemOf, stemOf, wordsOf } from './words.js'

/** A document with its passages, as it enters an index. */
export interface IndexedDocument {
  readonly id: string
  readonly name: string
  readonly passages: readonly Passage[]
}

/** Additions of models to the passages of an index, in the order of the passages of all documents. */
export interface PassageExtras {
  readonly vectors?: PassageVectors | null
  /** Questions that each passage answers. */
  readonly questions?: readonly (readonly string[])[] | null
}

/** The reason why a passage was found: its words, how they sound, questions made for it, or its meaning (vectors). */
export const MATCHES = ['words', 'sounds', 'questions', 'vectors'] as const
export type Match = (typeof MATCHES)[number]

/** A passage that was found. */
export interface FoundPassage extends Passage {
  readonly documentId: string
  readonly documentName: string
  /** Position within its document, from 0. */
  readonly index: number
  /** Share of the question that the passage covers, 0 to 1. */
  readonly score: number
  readonly matched: readonly Match[]
}

export interface Question {
  readonly text: string
  /** Earlier words of the conversation, which count less. */
  readonly context?: string
  /** By the model of the index. Vectors of another length are ignored. */
  readonly vector?: Int8Array | null
}

/**
 * An index as stored. Version 1 is the JSON alone. Version 2 is a head, the JSON and the vectors. Version 3 is the same, with
 * stems of more languages.
 */
interface StoredIndex {
  readonly version: 1 | 2 | 3
  readonly documents: readonly { readonly id: string; readonly name: string }[]
  readonly passages: readonly (Passage & { readonly document: number; readonly index: number })[]
  readonly words: AsPlainObject
  readonly vectors?: Omit<PassageVectors, 'bytes'> | null
  readonly hasQuestions?: boolean
}

/** First bytes since version 2. The length of the JSON follows (32 bits, little-endian). */
const MAGIC = Buffer.from('PKI2')
const HEAD_BYTES = MAGIC.length + 4

/** Fields of the word index and their weights. A heading says what its passages are about. */
const WORD_FIELDS = { words: 1, headingWords: 1.5 }
const SOUND_FIELDS = { sounds: 1, headingSounds: 1.5 }
const QUESTION_FIELDS = { questions: 1 }
const FIELDS = [...Object.keys(WORD_FIELDS), ...Object.keys(SOUND_FIELDS), ...Object.keys(QUESTION_FIELDS)]

/** Weights of the lists. A sound is less certain than a word. */
const WEIGHTS: Readonly<Record<Match, number>> = { words: 1, sounds: 0.7, questions: 0.7, vectors: 1 }

/** Constant of reciprocal rank fusion (Cormack, Clarke, Büttcher, SIGIR 2009). */
const RANK_CONSTANT = 60
/** Passages that each list contributes. */
const LIST_LENGTH = 50
/** Weight of words that were said before. */
const CONTEXT_WEIGHT = 0.3

const OPTIONS = {
  fields: FIELDS,
  tokenize: (text: string) => (text === '' ? [] : text.split(' ')),
  processTerm: (term: string) => term,
}

/** Builds the index of a knowledge base. Its bytes are the same for the same documents and extras. */
export function buildIndex(
  documents: readonly IndexedDocument[],
  { vectors = null, questions = null }: PassageExtras = {},
): Buffer {
  // Most words of a document occur many times.
  const [stem, sound] = [memoised(stemOf), memoised(soundOf)]
  const stems = (words: readonly string[]): string => words.map(stem).join(' ')
  const sounds = (words: readonly string[]): string => words.flatMap((word) => sound(word) ?? []).join(' ')
  const index = new MiniSearch(OPTIONS)
  const passages: StoredIndex['passages'][number][] = []
  for (const [at, { name, passages: own }] of documents.entries()) {
    for (const [position, passage] of own.entries()) {
      const heading = `${name.replace(/\.[a-z]{2,4}$/i, '')} ${passage.heading}`
      const [words, headingWords] = [wordsOf(passage.text), wordsOf(heading)]
      index.add({
        id: passages.length,
        words: stems(words),
        headingWords: stems(headingWords),
        sounds: sounds(words),
        headingSounds: sounds(headingWords),
        questions: heardWords(wordsOf(questions?.[passages.length]?.join(' ') ?? ''), sound),
      })
      passages.push({ ...passage, document: at, index: position })
    }
  }
  const stored: StoredIndex = {
    version: 3,
    documents: documents.map(({ id, name }) => ({ id, name })),
    passages,
    words: index.toJSON(),
    hasQuestions: questions !== null,
    vectors: vectors === null ? null : { model: vectors.model, dimensions: vectors.dimensions },
  }
  const json = Buffer.from(JSON.stringify(stored))
  const head = Buffer.alloc(HEAD_BYTES)
  MAGIC.copy(head)
  head.writeUInt32LE(json.length, MAGIC.length)
  const tail =
    vectors === null
      ? []
      : [Buffer.from(vectors.bytes.buffer, vectors.bytes.byteOffset, vectors.bytes.length)]
  return Buffer.concat([head, json, ...tail])
}

/** The index of a knowledge base, loaded for searches. */
export class PassageIndex {
  readonly #stored: StoredIndex
  readonly #index: MiniSearch
  readonly #vectors: VectorList | null
  readonly #stem: (word: string) => string
  /** Bytes of the stored form, a measure of the memory that it takes. */
  readonly bytes: number

  /** Loads an index that `buildIndex` made. */
  constructor(content: Buffer) {
    this.bytes = content.length
    const isFirst = !content.subarray(0, MAGIC.length).equals(MAGIC)
    const jsonAt = isFirst ? 0 : HEAD_BYTES
    const vectorsAt = isFirst ? content.length : HEAD_BYTES + content.readUInt32LE(MAGIC.length)
    this.#stored = JSON.parse(content.toString('utf8', jsonAt, vectorsAt))
    this.#index = MiniSearch.loadJS(this.#stored.words, OPTIONS)
    const { vectors, version } = this.#stored
    this.#stem = version < 3 ? earlierStemOf : stemOf
    // A copy, so that the text of the index can be forgotten.
    this.#vectors = vectors
      ? new VectorList({
          ...vectors,
          bytes: Int8Array.from(
            new Int8Array(content.buffer, content.byteOffset + vectorsAt, content.length - vectorsAt),
          ),
        })
      : null
  }

  /** The model whose vectors a question needs, or null when the index has none. */
  get vectorModel(): string | null {
    return this.#vectors?.model ?? null
  }

  /** Returns the passages that answer a question best, the best first. */
  search({ text, context = '', vector = null }: Question, limit: number): FoundPassage[] {
    const [subject, before] = [subjectWords(text), subjectWords(context)]
    const wordTerms = termWeights(subject.map(this.#stem), before.map(this.#stem))
    const soundTerms = termWeights(soundsOf(subject), soundsOf(before))
    const questionTerms = this.#stored.hasQuestions
      ? termWeights(heardTerms(subject, soundOf), heardTerms(before, soundOf))
      : new Map<string, number>()
    const lists = [
      this.#termList('words', wordTerms, WORD_FIELDS),
      this.#termList('sounds', soundTerms, SOUND_FIELDS),
      this.#termList('questions', questionTerms, QUESTION_FIELDS),
      this.#vectorList(vector),
    ]
    const ranked = fused(lists)
    const coverage = (id: number): number => Math.max(...lists.map(({ shares }) => shares.get(id) ?? 0))
    return ranked.slice(0, limit).flatMap((id) => {
      const passage = this.#stored.passages[id]
      const document = this.#stored.documents[passage?.document ?? -1]
      if (passage === undefined || document === undefined) return []
      const { text: found, heading, page, index } = passage
      const score = Math.round(coverage(id) * 1000) / 1000
      const matched = lists.filter(({ shares }) => (shares.get(id) ?? 0) > 0).map(({ match }) => match)
      const place = { documentId: document.id, documentName: document.name, index }
      return [{ text: found, heading, page, ...place, score, matched }]
    })
  }

  #termList(
    match: Match,
    terms: ReadonlyMap<string, number>,
    boost: Readonly<Record<string, number>>,
  ): RankedList {
    const results = this.#list(terms, boost)
    const shares = sharesOf(this.#index.documentCount, terms, results)
    return { match, ids: results.map(({ id }) => id), shares }
  }

  #vectorList(vector: Int8Array | null): RankedList {
    const nearest = vector === null ? [] : (this.#vectors?.nearest(vector, LIST_LENGTH) ?? [])
    return { match: 'vectors', ids: nearest.map(([id]) => id), shares: new Map(nearest) }
  }

  #list(terms: ReadonlyMap<string, number>, boost: Readonly<Record<string, number>>): SearchResult[] {
    if (terms.size === 0) return []
    return this.#index.search([...terms.keys()].join(' '), {
      fields: Object.keys(boost),
      boost,
      combineWith: 'OR',
      boostTerm: (term) => terms.get(term) ?? 1,
    })
  }
}

function memoised<T>(of: (word: string) => T): (word: string) => T {
  const known = new Map<string, T>()
  return (word) => {
    const found = known.get(word)
    if (found !== undefined) return found
    const made = of(word)
    known.set(word, made)
    return made
  }
}

/** Returns the words by their sounds, and those without a sound, such as numbers, as they are. */
function heardTerms(words: readonly string[], sound: (word: string) => string | null): string[] {
  return words.map((word) => sound(word) ?? stemOf(word))
}

function heardWords(words: readonly string[], sound: (word: string) => string | null): string {
  return heardTerms(words, sound).join(' ')
}

function soundsOf(words: readonly string[]): string[] {
  return words.flatMap((word) => soundOf(word) ?? [])
}

/** Returns the words of a question without those that only ask, unless there are no others. */
function subjectWords(text: string): readonly string[] {
  const words = wordsOf(text)
  const subject = words.filter((word) => !FUNCTION_WORDS.has(word))
  return subject.length > 0 ? subject : words
}

function termWeights(terms: readonly string[], context: readonly string[]): Map<string, number> {
  const weights = new Map(context.map((term) => [term, CONTEXT_WEIGHT]))
  for (const term of terms) weights.set(term, 1)
  return weights
}

interface RankedList {
  readonly match: Match
  /** Passages, the best first. */
  readonly ids: readonly number[]
  /** Share of the question that each passage covers by this list. */
  readonly shares: ReadonlyMap<number, number>
}

/**
 * Fuses ranked lists into one: reciprocal rank fusion, where a passage counts as much as it covers of the question, so
 * that the best of a list that hardly matches does not beat the best of one that does. Ties are broken by position.
 */
function fused(lists: readonly RankedList[]): number[] {
  const scores = new Map<number, number>()
  for (const { match, ids, shares } of lists) {
    const weight = WEIGHTS[match]
    for (const [rank, id] of ids.slice(0, LIST_LENGTH).entries()) {
      const share = shares.get(id) ?? 0
      scores.set(id, (scores.get(id) ?? 0) + (weight * share) / (RANK_CONSTANT + rank + 1))
    }
  }
  return [...scores].sort(([a, x], [b, y]) => y - x || a - b).map(([id]) => id)
}

/**
 * Returns the share of the question that each passage covers: the information (inverse document frequency) of the
 * terms that it has, of that of all terms.
 */
function sharesOf(
  documents: number,
  terms: ReadonlyMap<string, number>,
  results: readonly SearchResult[],
): ReadonlyMap<number, number> {
  const found = new Map<string, number>()
  for (const { queryTerms } of results) {
    for (const term of queryTerms) found.set(term, (found.get(term) ?? 0) + 1)
  }
  const information = (term: string): number => {
    const count = found.get(term) ?? 0
    return (terms.get(term) ?? 0) * Math.log(1 + (documents - count + 0.5) / (count + 0.5))
  }
  // Words that were said before may add to the share, and do not lower it.
  const own = [...terms].filter(([, weight]) => weight === 1)
  const total = own.reduce((sum, [term]) => sum + information(term), 0)
  return new Map(
    results.map(({ id, queryTerms }) => {
      const covered = queryTerms.reduce((sum, term) => sum + information(term), 0)
      return [id, total === 0 ? 0 : Math.min(1, covered / total)]
    }),
  )
}
