/** RFC 3711 section 3.3.2 asks for 64 at least. */
const WINDOW = 128

/** Which packet indices of one stream were there already. Indices up to 2^48 are exact. */
export class ReplayWindow {
  readonly #seen = new Float64Array(WINDOW).fill(-1)
  #highest = -1

  /** Not seen, and not too old to tell. */
  isFresh(index: number): boolean {
    return index > this.#highest - WINDOW && this.#seen[index % WINDOW] !== index
  }

  /** Only after the packet was found genuine. */
  add(index: number): void {
    this.#seen[index % WINDOW] = index
    if (index > this.#highest) this.#highest = index
  }
}
