import { allWords, type LanguageData, wordsByLanguage } from './language-data.js'
import { plainWords } from './plain-words.js'

/** Normalises words for comparison with a list. */
export type Normalise = (text: string) => string[]

interface Scoped {
  readonly everywhere: readonly string[]
  readonly thisLanguage: readonly string[]
}

/**
 * A word list of all languages. Words in Indian scripts and English words apply everywhere. Most romanised
 * words apply only in the call's language because they may mean something else in another.
 */
export class WordList {
  readonly #everywhere: ReadonlySet<string>
  readonly #own: ReadonlyMap<string, ReadonlySet<string>>

  constructor(list: (data: LanguageData) => Scoped, normalise: Normalise = plainWords) {
    this.#everywhere = wordSet((data) => list(data).everywhere, normalise)
    const own = wordsByLanguage((data) => list(data).thisLanguage)
    this.#own = new Map([...own].map(([tag, words]) => [tag, new Set(normalise(words.join(' ')))]))
  }

  /** `word` is normalised. With `language` null, words of any language match. */
  has(word: string, language: string | null): boolean {
    if (this.#everywhere.has(word)) return true
    if (language !== null) return this.#own.get(language)?.has(word) === true
    for (const words of this.#own.values()) if (words.has(word)) return true
    return false
  }
}

/** Returns the normalised words of a list in all languages. */
export function wordSet(
  list: (data: LanguageData) => readonly string[],
  normalise: Normalise = plainWords,
): ReadonlySet<string> {
  return new Set(normalise(allWords(list).join(' ')))
}

/** Returns an expression that matches any of the patterns in all languages. */
export function anyPattern(list: (data: LanguageData) => readonly string[], flags = ''): RegExp {
  const patterns = allWords(list)
  return patterns.length === 0 ? /(?!)/ : new RegExp(patterns.map((one) => `(?:${one})`).join('|'), flags)
}

/** Finds phrases of one or more words at the end of a row of words. */
export class PhraseList {
  readonly #phrases: ReadonlySet<string>
  readonly #longest: number

  constructor(list: (data: LanguageData) => readonly string[]) {
    const phrases = allWords(list).map((phrase) => wordsInLowerCase(phrase))
    this.#phrases = new Set(phrases.map((words) => words.join(' ')))
    this.#longest = Math.max(0, ...phrases.map((words) => words.length))
  }

  /** Returns how many of the first `length` words, in lower case, are left without the phrases at their end. */
  lengthWithout(words: readonly string[], length: number): number {
    let rest = length
    for (let size = 1; size <= this.#longest && size < rest; size++) {
      if (!this.#phrases.has(words.slice(rest - size, rest).join(' '))) continue
      rest -= size
      size = 0
    }
    return rest
  }
}

/** Returns the words between blanks, composed and in lower case. */
export function wordsInLowerCase(text: string): string[] {
  return text
    .normalize('NFC')
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '')
}
