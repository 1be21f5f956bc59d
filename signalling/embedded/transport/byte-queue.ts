const EMPTY: Buffer = Buffer.alloc(0)

/**
 * Queues the bytes of an incomplete message. Appending copies into a growing buffer (amortised, not once per
 * segment); a chunk that arrives at an empty queue is kept without a copy.
 */
export class ByteQueue {
  #store: Buffer = EMPTY
  #start = 0
  #end = 0

  get length(): number {
    return this.#end - this.#start
  }

  /** The queued bytes. They are valid until the next `append`; `consume` does not invalidate them. */
  get bytes(): Buffer {
    return this.#store.subarray(this.#start, this.#end)
  }

  append(chunk: Buffer): void {
    if (this.length === 0) {
      this.#store = chunk
      this.#start = 0
      this.#end = chunk.length
      return
    }
    const needed = this.length + chunk.length
    // Growing or moving allocates a new store, so that views handed out stay intact.
    if (this.#end + chunk.length > this.#store.length || this.#start > 0) {
      const grown = Buffer.allocUnsafe(Math.max(needed * 2, 4096))
      this.#store.copy(grown, 0, this.#start, this.#end)
      this.#end = this.length
      this.#start = 0
      this.#store = grown
    }
    chunk.copy(this.#store, this.#end)
    this.#end += chunk.length
  }

  consume(count: number): void {
    this.#start += count
    if (this.#start >= this.#end) this.clear()
  }

  clear(): void {
    this.#store = EMPTY
    this.#start = 0
    this.#end = 0
  }
}
