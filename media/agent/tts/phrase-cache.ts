import type { SpokenWord } from './heard-text.js'

/** A phrase synthesised ahead of time, at the session rate. */
export interface PreparedPhrase {
  readonly text: string
  readonly pcm: Int16Array
  readonly words: readonly SpokenWord[]
}

const BYTES = 4 * 1024 * 1024

/** Phrases shared by the calls of one thread. Bounded; evicts the least recently used. */
export class PhraseCache {
  readonly #phrases = new Map<string, PreparedPhrase>()
  #bytes = 0

  get(key: string): PreparedPhrase | null {
    const phrase = this.#phrases.get(key)
    if (!phrase) return null
    this.#phrases.delete(key)
    this.#phrases.set(key, phrase)
    return phrase
  }

  set(key: string, phrase: PreparedPhrase): void {
    const before = this.#phrases.get(key)
    if (before) this.#bytes -= before.pcm.byteLength
    this.#phrases.delete(key)
    this.#phrases.set(key, phrase)
    this.#bytes += phrase.pcm.byteLength
    for (const [oldest, { pcm }] of this.#phrases) {
      if (this.#bytes <= BYTES || oldest === key) break
      this.#phrases.delete(oldest)
      this.#bytes -= pcm.byteLength
    }
  }
}
