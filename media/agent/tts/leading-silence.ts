import type { SessionRate } from '../../base/frame.js'

/** About -45 dBFS. Synthesisers pad with digital or almost digital silence. */
export const AUDIBLE_LEVEL = 180
const KEEP_MS = 10

/** Drops the silence at the start of a synthesis, except for its last 10 ms. */
export class LeadingSilenceTrimmer {
  readonly #keep: number
  #tail = new Int16Array(0)
  #dropped = 0
  #speechStarted = false

  constructor(rate: SessionRate) {
    this.#keep = (rate / 1000) * KEEP_MS
  }

  /** Samples dropped. Final once `push` has returned audio. */
  get dropped(): number {
    return this.#dropped
  }

  /** Returns the audible part, or an empty array while everything so far was silence. */
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
