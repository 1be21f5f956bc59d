import type { PeerAnswer } from '../sip/dialog-port.js'

/** The question of a leg to its far side; see `Leg.ask`. */
type Ask = () => Promise<PeerAnswer>

/**
 * Decides about a far side that sends no media: a muted telephone without RTCP is silent, and so is one that has lost the
 * call. Its dialog tells them apart. A far side that does not answer either is gone when its silence is reported again,
 * because some peers drop every OPTIONS.
 */
export class SilentPeer {
  readonly #gone: () => void
  /** A question of this silence, or of one before it, has no answer yet or got none. */
  #isUnanswered = false
  #isAsking = false

  /** `gone` is called when the far side has left the call, perhaps more than once. */
  constructor(gone: () => void) {
    this.#gone = gone
  }

  /** Takes a report of silence. `again` is false for the first one of a silence. */
  silent(again: boolean, ask: Ask): void {
    if (again && this.#isUnanswered) {
      this.#gone()
      return
    }
    if (this.#isAsking) return
    this.#isAsking = true
    this.#isUnanswered = true
    void ask().then((answer) => {
      this.#isAsking = false
      if (answer === 'exists') this.#isUnanswered = false
      else if (answer === 'gone') this.#gone()
    })
  }
}
