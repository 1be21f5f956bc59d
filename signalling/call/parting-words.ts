import type { LegId } from '../../workers/channel/protocol.js'
import type { CallId } from './call-events.js'
import { type LegSpeechDeps, recordTo, sayTo } from './leg-speech.js'

/** Longest time (ms) of the words, and the time from them to the BYE, which the jitter buffer of the telephone needs. */
export const PARTING_TIMES_MS = { parting: 6_000, tail: 200 } as const

/** The further legs of a call that ends. The promises never reject. */
export interface EndedLegs {
  /**
   * Resolves when a person was told that the call ends: the media session must stay open until then. Null if no person is
   * told anything.
   */
  readonly told: Promise<void> | null
  /** Resolves when no leg is left. */
  readonly closed: Promise<void>
}

/** Says the last words to briefed persons when the call ends. */
export class PartingWords {
  readonly #callId: CallId
  readonly #deps: LegSpeechDeps
  #told: Promise<void> = Promise.resolve()
  #done: () => void = () => {}

  constructor(callId: CallId, deps: LegSpeechDeps) {
    this.#callId = callId
    this.#deps = deps
  }

  /**
   * Says the words in the middle of whatever is being said, as soon as the route is in force; null says nothing. The
   * recording ends before. `said` runs when they were said, cut or not possible.
   */
  say(leg: LegId | null, text: string | null, routed: Promise<void>, said: () => void): void {
    this.#told = new Promise((done) => {
      this.#done = done
    })
    recordTo(this.#deps, this.#callId, null)
    void routed
      .then(() => (leg === null ? undefined : sayTo(this.#deps, this.#callId, { leg, text, now: true })))
      .then(said)
  }

  /** The media session is not needed any longer. */
  done(): void {
    this.#done()
  }

  /** Returns what tells when these legs have ended. */
  ended(isTelling: boolean, legs: readonly { readonly closed: Promise<void> }[]): EndedLegs {
    const closed = async () => {
      await this.#told
      await Promise.all(legs.map((leg) => leg.closed))
    }
    return { told: isTelling ? this.#told : null, closed: closed() }
  }
}
