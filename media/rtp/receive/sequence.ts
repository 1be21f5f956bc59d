/** `a - b` of 16-bit sequence numbers, from -32768 to 32767. */
export function sequenceDelta(a: number, b: number): number {
  return ((a - b) << 16) >> 16
}

/** `a - b` of 32-bit timestamps, from -2^31 to 2^31 - 1. */
export function timestampDelta(a: number, b: number): number {
  return (a - b) | 0
}

/** What a sequence number turned out to be. */
export const FRESH = 0
export const DUPLICATE = 1
/** Behind by more than the window: too old to tell. */
export const STALE = 2
/** Out of any plausible order: the sender began anew. Counting starts over. */
export const RESTART = 3

// RFC 3550, appendix A.1: a larger step forward is a restart, not loss. Backwards the window decides.
const MAX_DROPOUT = 3000
const WINDOW = 256
const MAX_MISORDER = 1000

/**
 * Unwraps the sequence numbers of one SSRC, tells duplicates, and counts as RFC 3550 does. All plain
 * numbers; the window is one typed array.
 */
export class SequenceTracker {
  /** The unwrapped number of the packet last given to `update`. */
  extended = 0
  duplicates = 0
  readonly #seen = new Float64Array(WINDOW).fill(-1)
  #highest = -1
  #base = 0
  #received = 0
  /** Losses of the runs before a restart. */
  #lostBefore = 0

  get lost(): number {
    return this.#lostBefore + this.#lostNow()
  }

  update(sequence: number): number {
    if (this.#highest === -1) {
      this.#begin(sequence)
      return FRESH
    }
    const delta = sequenceDelta(sequence, this.#highest & 0xffff)
    if (delta > MAX_DROPOUT || delta < -MAX_MISORDER) {
      this.restart()
      this.#begin(sequence)
      return RESTART
    }
    const extended = this.#highest + delta
    this.extended = extended
    if (delta <= -WINDOW || extended < 0) return STALE
    const slot = extended % WINDOW
    if (this.#seen[slot] === extended) {
      this.duplicates++
      return DUPLICATE
    }
    this.#seen[slot] = extended
    this.#received++
    if (delta > 0) this.#highest = extended
    else if (extended < this.#base) this.#base = extended
    return FRESH
  }

  /** The next packet is the first of a new stream; the losses so far stay counted. */
  restart(): void {
    this.#lostBefore += this.#lostNow()
    this.#highest = -1
    this.#received = 0
    this.#seen.fill(-1)
  }

  #begin(sequence: number): void {
    // One cycle up, so that reordering around the first packet stays positive.
    this.#highest = sequence + 0x10000
    this.#base = this.#highest
    this.#received = 1
    this.extended = this.#highest
    this.#seen[this.#highest % WINDOW] = this.#highest
  }

  #lostNow(): number {
    if (this.#highest === -1) return 0
    return Math.max(0, this.#highest - this.#base + 1 - this.#received)
  }
}
