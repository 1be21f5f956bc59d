import type { Clock } from '../../media/base/clock.js'

/**
 * Returns a function that caches the result of `read` for `ms`. Concurrent callers share one read. A failed
 * read is not cached. Used for data that every INVITE needs, so that a flood of them does not cause a flood
 * of queries.
 */
export function cachedRead<T>(
  clock: Pick<Clock, 'now'>,
  ms: number,
  read: () => Promise<T>,
): () => Promise<T> {
  let last: { readonly atMs: number; readonly value: Promise<T> } | null = null
  return () => {
    if (last !== null && clock.now() - last.atMs < ms) return last.value
    const reading = { atMs: clock.now(), value: read() }
    last = reading
    reading.value.catch(() => {
      if (last === reading) last = null
    })
    return reading.value
  }
}
