/** Calls remembered; beyond it the one that was silent longest is forgotten. */
const MAX_CALLS = 50_000

/**
 * The calls this server proxied and stays in the path of. Their later requests are forwarded
 * wherever their Route and target say; nobody else's are, or the server would be an open relay.
 */
export class ProxiedCalls {
  /** By Call-ID, the longest silent first. */
  readonly #calls = new Set<string>()

  get size(): number {
    return this.#calls.size
  }

  add(callId: string): void {
    this.#calls.delete(callId)
    this.#calls.add(callId)
    if (this.#calls.size <= MAX_CALLS) return
    for (const oldest of this.#calls) {
      this.#calls.delete(oldest)
      break
    }
  }

  /** Whether a request belongs to one of them, which counts as a sign of life. */
  touch(callId: string): boolean {
    if (!this.#calls.delete(callId)) return false
    this.#calls.add(callId)
    return true
  }

  remove(callId: string): void {
    this.#calls.delete(callId)
  }
}
