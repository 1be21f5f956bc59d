/** Part of an interval by which it is shorter at most. */
const JITTER = 0.2

/**
 * Returns the time until the next look at the database (ms): up to a fifth less than the interval, so that the processes of a
 * database do not look at once.
 */
export function jittered(intervalMs: number): number {
  return Math.ceil(intervalMs * (1 - JITTER * Math.random()))
}
