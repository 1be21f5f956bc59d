import { FUNCTION_WORDS } from './function-words.js'
import { initialsTerm } from './initials.js'
import { lettersOf, speltIn } from './letters.js'
import { withNumbers } from './numbers.js'
import { soundOf } from './sound.js'
import type { Concept } from './term-lists.js'
import { stemOf, wordsOf } from './words.js'

/** The terms of an index. */
export interface Vocabulary {
  hasWord(term: string): boolean
  hasSound(key: string): boolean
  /** Returns the sounds of the index that are almost the same. */
  alike(key: string): readonly string[]
}

/** The concepts of a question, as words and as sounds. Numbers count as sounds. */
export interface QuestionTerms {
  readonly words: readonly Concept[]
  readonly sounds: readonly Concept[]
}

/**
 * How certain other terms for a word are: a sound that is almost the same, the initials of words for an abbreviation, and a
 * compound for its parts. Other values, chosen on one half of the questions of the bench, did not find more on the other half.
 */
const ALIKE = 0.6
const INITIALS = 0.8
const COMPOUND = 0.9
/** Words of a question for which sounds that are almost the same are looked for. Each takes a walk through the sounds. */
const MAX_ALIKE = 12
/** Fewest letters of a word that may be two. */
const SHORTEST_COMPOUND = 6

/**
 * Returns the concepts of a question. An abbreviation is looked for as initials too, and a word that the index does not have as
 * the parts of a compound, or as a sound that is almost the same.
 */
export function questionTerms(
  text: string,
  { weight, optional }: Pick<Concept, 'weight' | 'optional'>,
  vocabulary: Vocabulary,
): QuestionTerms {
  let left = MAX_ALIKE
  const index = { ...vocabulary, alike: (key: string) => (left-- > 0 ? vocabulary.alike(key) : []) }
  const words = withoutSpelling(wordsOf(text), index)
  const counted = withoutFunctionWords(withNumbers(words))
  const concept = (terms: Iterable<readonly [string, number]>): Concept => {
    return { terms: [...new Map(terms)], weight, optional }
  }
  const sounds = counted.flatMap((word) => {
    const key = soundOf(word) ?? (/^\d+$/.test(word) ? word : null)
    return key === null ? [] : [concept(soundVariants(word, key, counted, index))]
  })
  return {
    words: unique(counted.map((word) => concept(wordVariants(word, counted, index)))),
    sounds: unique(sounds),
  }
}

function* wordVariants(
  word: string,
  words: readonly string[],
  index: Vocabulary,
): Generator<readonly [string, number]> {
  const term = stemOf(word)
  for (const letters of lettersOf(word)) {
    if (index.hasWord(letters)) yield [letters, 1]
    if (index.hasWord(initialsTerm(letters))) yield [initialsTerm(letters), INITIALS]
  }
  yield [term, 1]
  for (const joined of joinedWith(word, words)) {
    if (index.hasWord(stemOf(joined))) yield [stemOf(joined), COMPOUND]
  }
  if (/^[a-z]{2,4}$/.test(word) && index.hasWord(initialsTerm(word))) {
    yield [initialsTerm(word), INITIALS]
  }
  if (index.hasWord(term)) return
  for (let at = 2; at <= word.length - 2 && word.length >= SHORTEST_COMPOUND; at++) {
    const first = word.slice(0, at)
    if (!index.hasWord(first)) continue
    const second = stemOf(word.slice(at))
    if (!index.hasWord(second)) continue
    yield [first, COMPOUND / 2]
    yield [second, COMPOUND / 2]
  }
}

function* soundVariants(
  word: string,
  key: string,
  words: readonly string[],
  index: Vocabulary,
): Generator<readonly [string, number]> {
  yield [key, 1]
  for (const joined of joinedWith(word, words)) {
    const whole = soundOf(joined)
    if (whole !== null && index.hasSound(whole)) yield [whole, COMPOUND]
  }
  if (index.hasSound(key)) return
  for (const other of index.alike(key)) yield [other, ALIKE]
}

/** Returns a word together with its neighbours: `web site` may be `website`. */
function joinedWith(word: string, words: readonly string[]): readonly string[] {
  const at = words.indexOf(word)
  const [before = '', after = ''] = [words[at - 1], words[at + 1]]
  return [before + word, word + after].filter((joined) => joined !== word && /^\P{N}{5,}$/u.test(joined))
}

/** Returns the words, with runs of single letters and digits joined where the index has these. */
function withoutSpelling(words: readonly string[], index: Vocabulary): readonly string[] {
  const found: string[] = []
  let at = 0
  for (const { from, length, parts, single } of speltIn(words)) {
    found.push(...words.slice(at, from))
    at = from + length
    const run = words.slice(from, at)
    const isKnown = (part: string): boolean => index.hasWord(part) || index.hasWord(initialsTerm(part))
    const known = parts.filter(isKnown)
    if (single && (known.length === parts.length || known.some((part) => part.length > 1)))
      found.push(...known)
    else if (!single && known.length > 0) found.push(...new Set([...run, ...known]))
    else found.push(...run)
  }
  return [...found, ...words.slice(at)]
}

/** Returns the words without those that only ask, unless there are no others. */
export function withoutFunctionWords(words: readonly string[]): readonly string[] {
  const subject = words.filter((word) => !FUNCTION_WORDS.has(word))
  return subject.length > 0 ? subject : words
}

function unique(concepts: readonly Concept[]): readonly Concept[] {
  return [...new Map(concepts.map((concept) => [concept.terms[0]?.[0] ?? '', concept])).values()]
}
