import type { SpokenWord } from './heard-text.js'

/** A line synthesised ahead of time, at the session rate. */
export interface PreparedLine {
  readonly text: string
  readonly pcm: Int16Array
  readonly words: readonly SpokenWord[]
}

const BYTES = 4 * 1024 * 1024

/** Fixed lines shared by the calls of one thread. Bounded; the least recently used leave. */
export class LineCache {
  readonly #lines = new Map<string, PreparedLine>()
  #bytes = 0

  get(key: string): PreparedLine | null {
    const line = this.#lines.get(key)
    if (!line) return null
    this.#lines.delete(key)
    this.#lines.set(key, line)
    return line
  }

  set(key: string, line: PreparedLine): void {
    const before = this.#lines.get(key)
    if (before) this.#bytes -= before.pcm.byteLength
    this.#lines.delete(key)
    this.#lines.set(key, line)
    this.#bytes += line.pcm.byteLength
    for (const [oldest, { pcm }] of this.#lines) {
      if (this.#bytes <= BYTES || oldest === key) break
      this.#lines.delete(oldest)
      this.#bytes -= pcm.byteLength
    }
  }
}

const caches = new WeakMap<object, LineCache>()

/** The cache that belongs to a thread's vendors and goes with them. */
export function lineCacheOf(vendors: object): LineCache {
  let cache = caches.get(vendors)
  if (!cache) {
    cache = new LineCache()
    caches.set(vendors, cache)
  }
  return cache
}
