import type { Clock } from '../../media/base/clock.js'

/**
 * What `read` gives, read again when the last reading is older than `ms`; those who ask meanwhile share
 * one reading. A failed one is not kept. For answers every stranger's INVITE needs: a flood of them must
 * not become a flood of queries.
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
