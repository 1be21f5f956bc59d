import { type EarlierTerms, earlierStemOf, presentTerms } from './earlier-index.js'
import { initialsOf } from './initials.js'
import { lettersOf, speltIn } from './letters.js'
import { withNumbers } from './numbers.js'
import type { Passage } from './passages.js'
import { questionTerms, type Vocabulary, withoutFunctionWords } from './question-terms.js'
import { areAlike, soundOf } from './sound.js'
import { type Concept, type RankedTerms, type StoredTerms, TermLists, TermWriter } from './term-lists.js'
import { type PassageVectors, VectorList } from './vectors.js'
import { baseOf, stemOf, wordsOf } from './words.js'

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
 * stems of more languages. Version 4 has terms in a form of its own, other stems of English, numbers as digits, spelt words
 * and initials.
 */
interface StoredIndex {
  readonly version: 1 | 2 | 3 | 4
  readonly documents: readonly { readonly id: string; readonly name: string }[]
  readonly passages: readonly (Passage & { readonly document: number; readonly index: number })[]
  readonly words: EarlierTerms | StoredTerms
  readonly vectors?: Omit<PassageVectors, 'bytes'> | null
  readonly hasQuestions?: boolean
}

/** First bytes since version 2. The length of the JSON follows (32 bits, little-endian). */
const MAGIC = Buffer.from('PKI2')
const HEAD_BYTES = MAGIC.length + 4

/** Fields of the word index and their weights. A heading says what its passages are about. */
const WORD_FIELDS = { words: 1, headingWords: 1.5, initials: 1 }
const SOUND_FIELDS = { sounds: 1, headingSounds: 1.5 }
const QUESTION_FIELDS = { questions: 1 }
const [WORD_NAMES, SOUND_NAMES] = [Object.keys(WORD_FIELDS), Object.keys(SOUND_FIELDS)]
const FIELDS = [...WORD_NAMES, ...SOUND_NAMES, ...Object.keys(QUESTION_FIELDS)]

/** Weights of the lists. A sound is less certain than a word. */
const WEIGHTS: Readonly<Record<Match, number>> = { words: 1, sounds: 0.7, questions: 0.7, vectors: 1 }

/** Constant of reciprocal rank fusion (Cormack, Clarke, Büttcher, SIGIR 2009). */
const RANK_CONSTANT = 60
/** Passages that each list contributes. */
const LIST_LENGTH = 50
/** Weight of words that were said before. */
const CONTEXT_WEIGHT = 0.3

/** Builds the index of a knowledge base. Its bytes are the same for the same documents and extras. */
export function buildIndex(
  documents: readonly IndexedDocument[],
  { vectors = null, questions = null }: PassageExtras = {},
): Buffer {
  // Most words of a document occur many times.
  const [stem, sound, letters] = [memoised(stemOf), memoised(soundOf), memoised(lettersOf)]
  const terms = (words: readonly string[]): readonly string[] => [
    ...withNumbers(words).map(stem),
    ...words.flatMap(letters),
    ...speltTerms(words),
  ]
  const heard = memoised((word) =>
    /^\d+$/.test(word)
      ? [word]
      : [...new Set([sound(word), sound(baseOf(word))])].filter((key) => key !== null),
  )
  const sounds = (words: readonly string[]): readonly string[] => withNumbers(words).flatMap(heard)
  const writer = new TermWriter(FIELDS)
  const passages: StoredIndex['passages'][number][] = []
  for (const [at, { name, passages: own }] of documents.entries()) {
    for (const [position, passage] of own.entries()) {
      const heading = `${name.replace(/\.[a-z]{2,4}$/i, '')} ${passage.heading}`
      const [words, headingWords] = [wordsOf(passage.text), wordsOf(heading)]
      writer.add({
        words: terms(words),
        headingWords: terms(headingWords),
        sounds: sounds(words),
        headingSounds: sounds(headingWords),
        initials: initialsOf(headingWords, words),
        questions: heardTerms(
          withNumbers(wordsOf(questions?.[passages.length]?.join(' ') ?? '')),
          sound,
          stem,
        ),
      })
      passages.push({ ...passage, document: at, index: position })
    }
  }
  const stored: StoredIndex = {
    version: 4,
    documents: documents.map(({ id, name }) => ({ id, name })),
    passages,
    words: writer.stored(),
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
  readonly #stored: Omit<StoredIndex, 'words'>
  readonly #lists: TermLists
  readonly #vectors: VectorList | null
  readonly #vocabulary: Vocabulary
  /** Bytes of the stored form, a measure of the memory that it takes. */
  readonly bytes: number

  /** Loads an index that `buildIndex` made. */
  constructor(content: Buffer) {
    this.bytes = content.length
    const isFirst = !content.subarray(0, MAGIC.length).equals(MAGIC)
    const jsonAt = isFirst ? 0 : HEAD_BYTES
    const vectorsAt = isFirst ? content.length : HEAD_BYTES + content.readUInt32LE(MAGIC.length)
    const { words, ...stored } = JSON.parse(content.toString('utf8', jsonAt, vectorsAt)) as StoredIndex
    this.#stored = stored
    this.#lists = new TermLists('terms' in words ? words : presentTerms(words))
    this.#vocabulary = vocabularyOf(this.#lists)
    const { vectors } = stored
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
    const { words, sounds, questions } = this.#concepts(text, context)
    const lists = [
      this.#termList('words', words, WORD_FIELDS),
      this.#termList('sounds', sounds, SOUND_FIELDS),
      this.#termList('questions', this.#stored.hasQuestions ? questions : [], QUESTION_FIELDS),
      this.#vectorList(vector),
    ]
    const ranked = fused(lists)
    const coverage = (id: number): number => Math.max(...lists.map(({ shareOf }) => shareOf(id)))
    return ranked.slice(0, limit).flatMap((id) => {
      const passage = this.#stored.passages[id]
      const document = this.#stored.documents[passage?.document ?? -1]
      if (passage === undefined || document === undefined) return []
      const { text: found, heading, page, index } = passage
      const score = Math.round(coverage(id) * 1000) / 1000
      const matched = lists.filter(({ shareOf }) => shareOf(id) > 0).map(({ match }) => match)
      const place = { documentId: document.id, documentName: document.name, index }
      return [{ text: found, heading, page, ...place, score, matched }]
    })
  }

  /** Returns what a question and the words before it ask for. What both ask for is asked once, by the question. */
  #concepts(text: string, context: string): Asked {
    const [question, before] = [
      this.#asked(text, { weight: 1, optional: false }),
      this.#asked(context, { weight: CONTEXT_WEIGHT, optional: true }),
    ]
    const both = (name: keyof Asked): readonly Concept[] => {
      const known = new Set(question[name].map(({ terms }) => terms[0]?.[0]))
      return [...question[name], ...before[name].filter(({ terms }) => !known.has(terms[0]?.[0]))]
    }
    return { words: both('words'), sounds: both('sounds'), questions: both('questions') }
  }

  #asked(text: string, counts: Pick<Concept, 'weight' | 'optional'>): Asked {
    const { version } = this.#stored
    const concepts = (terms: readonly string[]): readonly Concept[] =>
      [...new Set(terms)].map((term) => ({ terms: [[term, 1]], ...counts }))
    const subject = withoutFunctionWords(wordsOf(text))
    if (version < 4) {
      const stem = earlierStemOf(version)
      return {
        words: concepts(subject.map(stem)),
        sounds: concepts(subject.flatMap((word) => soundOf(word) ?? [])),
        questions: concepts(heardTerms(subject, soundOf, stem)),
      }
    }
    const counted = withoutFunctionWords(withNumbers(wordsOf(text)))
    return {
      ...questionTerms(text, counts, this.#vocabulary),
      questions: concepts(heardTerms(counted, soundOf, stemOf)),
    }
  }

  #termList(
    match: Match,
    concepts: readonly Concept[],
    boosts: Readonly<Record<string, number>>,
  ): RankedList {
    return { match, ...this.#lists.rank(concepts, boosts, LIST_LENGTH) }
  }

  #vectorList(vector: Int8Array | null): RankedList {
    const nearest = new Map(vector === null ? [] : (this.#vectors?.nearest(vector, LIST_LENGTH) ?? []))
    return { match: 'vectors', ids: [...nearest.keys()], shareOf: (id) => nearest.get(id) ?? 0 }
  }
}

/** Returns letters, digits and groups of digits that follow each other, joined. */
function speltTerms(words: readonly string[]): string[] {
  return speltIn(words).flatMap(({ parts }) =>
    parts.filter((part) => part.length > 1 && !words.includes(part)),
  )
}

function vocabularyOf(lists: TermLists): Vocabulary {
  const byFirst = new Map<string, string[]>()
  for (const key of lists.termsOf('sounds')) {
    const first = key[0] ?? ''
    const others = byFirst.get(first) ?? []
    others.push(key)
    byFirst.set(first, others)
  }
  return {
    hasWord: (term) => lists.has(term, WORD_NAMES),
    hasSound: (key) => lists.has(key, SOUND_NAMES),
    alike: (key) => (byFirst.get(key[0] ?? '') ?? []).filter((other) => areAlike(key, other)),
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

/** Returns the words by their sounds, and those without a sound, such as numbers, by their stems. */
function heardTerms(
  words: readonly string[],
  sound: (word: string) => string | null,
  stem: (word: string) => string,
): string[] {
  return words.map((word) => sound(word) ?? stem(word))
}

/** Concepts of a question for each list of terms. */
type Asked = Readonly<Record<'words' | 'sounds' | 'questions', readonly Concept[]>>

interface RankedList extends RankedTerms {
  readonly match: Match
}

/**
 * Fuses ranked lists into one: reciprocal rank fusion, where a passage counts as much as it covers of the question, so
 * that the best of a list that hardly matches does not beat the best of one that does. Ties are broken by position.
 */
function fused(lists: readonly RankedList[]): number[] {
  const scores = new Map<number, number>()
  for (const { match, ids, shareOf } of lists) {
    const weight = WEIGHTS[match]
    for (const [rank, id] of ids.entries()) {
      scores.set(id, (scores.get(id) ?? 0) + (weight * shareOf(id)) / (RANK_CONSTANT + rank + 1))
    }
  }
  return [...scores].sort(([a, x], [b, y]) => y - x || a - b).map(([id]) => id)
}
