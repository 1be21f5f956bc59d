import type { SpeakerScript } from '../../media/agent/agent-spec.js'
import type { Clock } from '../../media/base/clock.js'

/**
 * What simulated speakers will say, by SIP Call-ID, and which calls are ours at all: the place where
 * the service and its sandbox carrier, two SIP peers, know of each other. Bounded: the oldest entry
 * goes first, and every entry after `lifeMs`.
 */
export class SpeakerScripts {
  readonly #clock: Clock
  readonly #limit: number
  readonly #lifeMs: number
  /** Insertion order is age. */
  readonly #calls = new Map<string, { script: SpeakerScript | null; readonly expiresAt: number }>()

  constructor(clock: Clock, { limit = 10_000, lifeMs = 600_000 }: { limit?: number; lifeMs?: number } = {}) {
    this.#clock = clock
    this.#limit = limit
    this.#lifeMs = lifeMs
  }

  get size(): number {
    return this.#calls.size
  }

  /** The service is about to send an INVITE under this Call-ID; the sandbox takes no other. */
  announce(sipCallId: string): void {
    this.#put(sipCallId, null)
  }

  isAnnounced(sipCallId: string): boolean {
    return this.#find(sipCallId) !== undefined
  }

  /** Must happen before the call is answered: the media session asks once, when it starts. */
  register(sipCallId: string, script: SpeakerScript): void {
    this.#put(sipCallId, script)
  }

  /** Null for anyone but a simulated speaker. */
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
