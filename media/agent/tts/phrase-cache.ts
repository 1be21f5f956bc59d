import type { SpokenWord } from './heard-text.js'

/** A line synthesised ahead of time, at the session rate. */
export interface PreparedPhrase {
  readonly text: string
  readonly pcm: Int16Array
  readonly words: readonly SpokenWord[]
}

const BYTES = 4 * 1024 * 1024

/** Fixed lines shared by the calls of one thread. Bounded; the least recently used leave. */
export class PhraseCache {
  readonly #phrases = new Map<string, PreparedPhrase>()
  #bytes = 0

  get(key: string): PreparedPhrase | null {
    const line = this.#phrases.get(key)
    if (!line) return null
    this.#phrases.delete(key)
    this.#phrases.set(key, line)
    return line
  }

  set(key: string, line: PreparedPhrase): void {
    const before = this.#phrases.get(key)
    if (before) this.#bytes -= before.pcm.byteLength
    this.#phrases.delete(key)
    this.#phrases.set(key, line)
    this.#bytes += line.pcm.byteLength
    for (const [oldest, { pcm }] of this.#phrases) {
      if (this.#bytes <= BYTES || oldest === key) break
      this.#phrases.delete(oldest)
      this.#bytes -= pcm.byteLength
    }
  }
}

const caches = new WeakMap<object, PhraseCache>()

/** The cache that belongs to a thread's vendors and goes with them. */
export function phraseCacheOf(vendors: object): PhraseCache {
  let cache = caches.get(vendors)
  if (!cache) {
    cache = new PhraseCache()
    caches.set(vendors, cache)
  }
  return cache
}
