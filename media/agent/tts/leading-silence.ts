import type { SessionRate } from '../../base/frame.js'

/** About -45 dBFS: synthesisers pad with digital or nearly digital silence. */
export const AUDIBLE_LEVEL = 180
const KEEP_MS = 10

/** Drops the silence a synthesis begins with, but for its last 10 ms. */
export class LeadingSilenceTrimmer {
  readonly #keep: number
  #tail = new Int16Array(0)
  #dropped = 0
  #speechStarted = false

  constructor(rate: SessionRate) {
    this.#keep = (rate / 1000) * KEEP_MS
  }

  /** Samples dropped; final once `push` has returned sound. */
  get dropped(): number {
    return this.#dropped
  }

  /** The audible part, or an empty array while everything so far was silence. */
  push(pcm: Int16Array): Int16Array {
    if (this.#speechStarted) return pcm
    let first = 0
    while (first < pcm.length && Math.abs(pcm[first] ?? 0) < AUDIBLE_LEVEL) first++
    this.#speechStarted = first < pcm.length
    const tail = this.#tail
    const all = new Int16Array(tail.length + pcm.length)
    all.set(tail, 0)
    all.set(pcm, tail.length)
    const from = Math.max(0, tail.length + first - this.#keep)
    this.#dropped += from
    if (this.#speechStarted) return all.subarray(from)
    this.#tail = all.slice(from)
    return this.#tail.subarray(0, 0)
  }
}
