import { plainWords } from './plain-words.js'

/**
 * Words of the eleven languages. Those in scripts of India show their language by themselves, English ones
 * belong to all; of words in Latin letters that mean something else in another language, only those of
 * the call's language count.
 */
export class WordList {
  readonly #everywhere: ReadonlySet<string>
  readonly #latin: ReadonlyMap<string, ReadonlySet<string>>

  constructor(everywhere: string, latin: Readonly<Record<string, string>> = {}) {
    this.#everywhere = new Set(plainWords(everywhere))
    this.#latin = new Map(Object.entries(latin).map(([tag, list]) => [tag, new Set(plainWords(list))]))
  }

  /** `word` in plain letters (turn-late.ts); `language` null: any of them. */
  has(word: string, language: string | null): boolean {
    if (this.#everywhere.has(word)) return true
    if (language !== null) return this.#latin.get(language)?.has(word) === true
    for (const list of this.#latin.values()) if (list.has(word)) return true
    return false
  }
}
