import type { SpeakerScript } from '../../media/agent/agent-spec.js'
import type { Clock } from '../../media/base/clock.js'

/**
 * The scripts of simulated callers by SIP Call-ID, and the Call-IDs of our own calls. Shared by the service
 * and its sandbox carrier, which are two SIP peers. Bounded: the oldest entry is dropped first, and every
 * entry after `lifeMs`.
 */
export class SpeakerScripts {
  readonly #clock: Clock
  readonly #limit: number
  readonly #lifeMs: number
  /** In insertion order: the oldest comes first. */
  readonly #calls = new Map<string, { script: SpeakerScript | null; readonly expiresAt: number }>()

  constructor(clock: Clock, { limit = 10_000, lifeMs = 600_000 }: { limit?: number; lifeMs?: number } = {}) {
    this.#clock = clock
    this.#limit = limit
    this.#lifeMs = lifeMs
  }

  get size(): number {
    return this.#calls.size
  }

  /** Announces a Call-ID before its INVITE is sent; the sandbox carrier refuses all others. */
  announce(sipCallId: string): void {
    this.#put(sipCallId, null)
  }

  isAnnounced(sipCallId: string): boolean {
    return this.#find(sipCallId) !== undefined
  }

  /** Stores a script. Must run before the call is answered: the media pool asks once, when media starts. */
  register(sipCallId: string, script: SpeakerScript): void {
    this.#put(sipCallId, script)
  }

  /** Returns the script of a simulated caller; null for any other call. */
  get(sipCallId: string): SpeakerScript | null {
    return this.#find(sipCallId)?.script ?? null
  }

  forget(sipCallId: string): void {
    this.#calls.delete(sipCallId)
  }

  #put(sipCallId: string, script: SpeakerScript | null): void {
    this.#calls.delete(sipCallId)
    this.#calls.set(sipCallId, { script, expiresAt: this.#clock.now() + this.#lifeMs })
    const now = this.#clock.now()
    for (const [key, call] of this.#calls) {
      if (this.#calls.size <= this.#limit && call.expiresAt > now) break
      this.#calls.delete(key)
    }
  }

  #find(sipCallId: string) {
    const call = this.#calls.get(sipCallId)
    return call && call.expiresAt > this.#clock.now() ? call : undefined
  }
}
