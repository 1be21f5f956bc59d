/** Packets in the window. RFC 3711 section 3.3.2 requires at least 64. */
const WINDOW = 128

/** The packet indices of one stream that were already received. Exact for indices up to 2^48. */
export class ReplayWindow {
  readonly #seen = new Float64Array(WINDOW).fill(-1)
  #highest = -1

  /** Returns true when the index is new and inside the window. */
  isFresh(index: number): boolean {
    return index > this.#highest - WINDOW && this.#seen[index % WINDOW] !== index
  }

  /** Adds an index. Call it only after authentication. */
  add(index: number): void {
    this.#seen[index % WINDOW] = index
    if (index > this.#highest) this.#highest = index
  }
}
