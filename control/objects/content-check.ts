import { createHash } from 'node:crypto'
import type { ObjectDigest, PutLimits } from './object-store.js'

/** Counts and hashes the bytes of an object while they are written. */
export class ContentCheck {
  readonly #hash = createHash('sha256')
  readonly #limits: PutLimits
  #bytes = 0

  constructor(limits: PutLimits) {
    this.#limits = limits
  }

  /** Returns false when the content is larger than allowed. The chunk must then not be written. */
  add(chunk: Uint8Array): boolean {
    this.#bytes += chunk.length
    if (this.#bytes > this.#limits.maxBytes) return false
    this.#hash.update(chunk)
    return true
  }

  /** Returns the digest of all bytes, or null when they are not the expected ones. Call it once. */
  digest(): ObjectDigest | null {
    const sha256 = this.#hash.digest('hex')
    const { sha256: expected = sha256 } = this.#limits
    return sha256 === expected ? { bytes: this.#bytes, sha256 } : null
  }
}
