import { readFileSync } from 'node:fs'
import { performance } from 'node:perf_hooks'

/** The share is that of at least this time (ms). */
const OVER_MS = 1000
const NS_PER_MS = 1e6

interface Mark {
  readonly atMs: number
  readonly workMs: number
}

/** Measures the share of a core that the calling thread uses. */
export class ThreadWork {
  readonly #nowMs: () => number
  readonly #workMs: () => number
  readonly #marks: Mark[] = []

  /** @param workMs returns the time for which the thread ran so far (ms). */
  constructor(nowMs: () => number = () => performance.now(), workMs: () => number = threadRunMs) {
    this.#nowMs = nowMs
    this.#workMs = workMs
  }

  /** Returns the share (0..1) since the youngest call that is a second old, or since the first one; 0 at first. */
  share(): number {
    const mark = { atMs: this.#nowMs(), workMs: this.#workMs() }
    while (this.#marks[1] !== undefined && mark.atMs - this.#marks[1].atMs >= OVER_MS) this.#marks.shift()
    const [since] = this.#marks
    this.#marks.push(mark)
    if (since === undefined || mark.atMs <= since.atMs) return 0
    return Math.min(1, (mark.workMs - since.workMs) / (mark.atMs - since.atMs))
  }
}

/**
 * Returns the time for which the calling thread ran (ms). Without Linux' account of threads it is the time in which the
 * thread did not wait for events.
 */
function threadRunMs(): number {
  try {
    return Number(readFileSync('/proc/thread-self/schedstat', 'utf8').split(' ')[0]) / NS_PER_MS
  } catch {
    return performance.eventLoopUtilization().active
  }
}
