import type { Clock, Timer } from '../media/base/clock.js'
import type { Digit } from '../media/frame.js'

/**
 * While keys may also come as RTP events, how long one that signalling told of waits for its twin.
 * Longer than a key is held: a peer may tell at its beginning, RTP tells at its end.
 */
export const TWIN_WAIT_MS = 600

/**
 * Keys that a peer tells of by SIP INFO. Some peers send each key twice, as RTP event (RFC 4733) and
 * as INFO: once a key came as RTP event, that is the way, and INFO is not listened to any more.
 */
export class InfoDigits {
  readonly #clock: Clock
  readonly #deliver: (digit: Digit, durationMs: number) => void
  readonly #waiting = new Set<Timer>()
  #inBand = false

  constructor(clock: Clock, deliver: (digit: Digit, durationMs: number) => void) {
    this.#clock = clock
    this.#deliver = deliver
  }

  /** An INFO came. `negotiated`: telephone-event is part of the session, a twin may follow. */
  told(digit: Digit, durationMs: number, negotiated: boolean): void {
    if (this.#inBand) return
    if (!negotiated) {
      this.#deliver(digit, durationMs)
      return
    }
    const timer = this.#clock.after(TWIN_WAIT_MS, () => {
      this.#waiting.delete(timer)
      this.#deliver(digit, durationMs)
    })
    this.#waiting.add(timer)
  }

  /** A key came as RTP event: those that wait are twins of it and of the next. */
  heard(): void {
    this.#inBand = true
    this.close()
  }

  close(): void {
    for (const timer of this.#waiting) timer.cancel()
    this.#waiting.clear()
  }
}
