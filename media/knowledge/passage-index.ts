import MiniSearch, { type AsPlainObject, type SearchResult } from 'minisearch'
import { FUNCTION_WORDS } from './function-words.js'
import type { Passage } from './passages.js'
import { soundOf } from './sound.js'
import { stemOf, wordsOf } from './words.js'

/** A document with its passages, as it enters an index. */
export interface IndexedDocument {
  readonly id: string
  readonly name: string
  readonly passages: readonly Passage[]
}

/** A passage that was found. */
export interface FoundPassage extends Passage {
  readonly documentId: string
  readonly documentName: string
  /** Position within its document, from 0. */
  readonly index: number
  /** Share of the question that the passage covers, 0 to 1. */
  readonly score: number
}

export interface Question {
  readonly text: string
  /** Earlier words of the conversation, which count less. */
  readonly context?: string
}

/** An index as stored. */
interface StoredIndex {
  readonly version: 1
  readonly documents: readonly { readonly id: string; readonly name: string }[]
  readonly passages: readonly (Passage & { readonly document: number; readonly index: number })[]
  readonly words: AsPlainObject
}

/** Fields of the word index and their weights. A heading says what its passages are about. */
const WORD_FIELDS = { words: 1, headingWords: 1.5 }
const SOUND_FIELDS = { sounds: 1, headingSounds: 1.5 }
const FIELDS = [...Object.keys(WORD_FIELDS), ...Object.keys(SOUND_FIELDS)]

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

/** Builds the index of a knowledge base. Its bytes are the same for the same documents. */
export function buildIndex(documents: readonly IndexedDocument[]): Buffer {
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
      })
      passages.push({ ...passage, document: at, index: position })
    }
  }
  const stored: StoredIndex = {
    version: 1,
    documents: documents.map(({ id, name }) => ({ id, name })),
    passages,
    words: index.toJSON(),
  }
  return Buffer.from(JSON.stringify(stored))
}

/** The index of a knowledge base, loaded for searches. */
export class PassageIndex {
  readonly #stored: StoredIndex
  readonly #index: MiniSearch
  /** Bytes of the stored form, a measure of the memory that it takes. */
  readonly bytes: number

  /** Loads an index that `buildIndex` made. */
  constructor(content: Buffer) {
    this.bytes = content.length
    this.#stored = JSON.parse(content.toString('utf8'))
    this.#index = MiniSearch.loadJS(this.#stored.words, OPTIONS)
  }

  /** Returns the passages that answer a question best, the best first. */
  search({ text, context = '' }: Question, limit: number): FoundPassage[] {
    const [subject, before] = [subjectWords(text), subjectWords(context)]
    const wordTerms = termWeights(subject.map(stemOf), before.map(stemOf))
    const soundTerms = termWeights(soundsOf(subject), soundsOf(before))
    const words = this.#list(wordTerms, WORD_FIELDS)
    const heard = this.#list(soundTerms, SOUND_FIELDS)
    const lists = [
      { results: words, terms: wordTerms, weight: 1 },
      { results: heard, terms: soundTerms, weight: 0.7 },
    ].map(({ results, terms, weight }) => ({
      results,
      weight,
      shares: sharesOf(this.#index.documentCount, terms, results),
    }))
    const ranked = fused(lists)
    const coverage = (id: number): number => Math.max(...lists.map(({ shares }) => shares.get(id) ?? 0))
    return ranked.slice(0, limit).flatMap((id) => {
      const passage = this.#stored.passages[id]
      const document = this.#stored.documents[passage?.document ?? -1]
      if (passage === undefined || document === undefined) return []
      const { text: found, heading, page, index } = passage
      const score = Math.round(coverage(id) * 1000) / 1000
      return [
        { text: found, heading, page, index, documentId: document.id, documentName: document.name, score },
      ]
    })
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
  readonly results: readonly SearchResult[]
  readonly weight: number
  /** Share of the question that each passage covers by the terms of this list. */
  readonly shares: ReadonlyMap<number, number>
}

/**
 * Fuses ranked lists into one: reciprocal rank fusion, where a passage counts as much as it covers of the question, so
 * that the best of a list that hardly matches does not beat the best of one that does. Ties are broken by position.
 */
function fused(lists: readonly RankedList[]): number[] {
  const scores = new Map<number, number>()
  for (const { results, weight, shares } of lists) {
    for (const [rank, { id }] of results.slice(0, LIST_LENGTH).entries()) {
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
