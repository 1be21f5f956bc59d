import { createHmac, randomBytes } from 'node:crypto'

/** Number of nonces in one half of the memory. */
const HALF = 262_144

/**
 * Remembers which nonces were sent to which sources: at least the last 262,144, at most twice as many, of all sources.
 * A nonce is valid for a minute, so a flood needs 4,300 challenges a second to remove one that still counts. The rates
 * of the guard keep a single source far below that. The memory keeps a fingerprint of 48 bits for each nonce, about
 * 20 MB when it is full.
 */
export class SentNonces {
  /** Makes the fingerprints unpredictable, so that an attacker cannot find another nonce with the same one. */
  readonly #secret = randomBytes(32)
  readonly #half: number
  #recent = new Set<number>()
  #older = new Set<number>()

  constructor(half = HALF) {
    this.#half = half
  }

  /** Stores that a nonce was sent to a source (key of `sourceKey`). */
  add(source: string, nonce: string): void {
    if (this.#recent.size >= this.#half) {
      this.#older = this.#recent
      this.#recent = new Set()
    }
    this.#recent.add(this.#fingerprint(source, nonce))
  }

  /** Tells whether a nonce was sent to a source, as far as the memory reaches back. */
  has(source: string, nonce: string): boolean {
    const fingerprint = this.#fingerprint(source, nonce)
    return this.#recent.has(fingerprint) || this.#older.has(fingerprint)
  }

  #fingerprint(source: string, nonce: string): number {
    // A source contains no space.
    return createHmac('sha256', this.#secret).update(`${source} ${nonce}`).digest().readUIntBE(0, 6)
  }
}
