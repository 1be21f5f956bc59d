import { plainWords } from './plain-words.js'

/**
 * A word list of several languages. Words in Indian scripts and English words apply everywhere. Romanised
 * words apply only in the call's language because they may mean something else in another.
 */
export class WordList {
  readonly #everywhere: ReadonlySet<string>
  readonly #latin: ReadonlyMap<string, ReadonlySet<string>>

  constructor(everywhere: string, latin: Readonly<Record<string, string>> = {}) {
    this.#everywhere = new Set(plainWords(everywhere))
    this.#latin = new Map(Object.entries(latin).map(([tag, list]) => [tag, new Set(plainWords(list))]))
  }

  /** `word` is normalised (plain-words.ts). With `language` null, words of any language match. */
  has(word: string, language: string | null): boolean {
    if (this.#everywhere.has(word)) return true
    if (language !== null) return this.#latin.get(language)?.has(word) === true
    for (const list of this.#latin.values()) if (list.has(word)) return true
    return false
  }
}
