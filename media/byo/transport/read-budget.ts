import type { Clock } from '../../base/clock.js'
import type { Scope } from '../../base/scope.js'

/**
 * Budget for reading a bot's messages (ms of this thread): a burst of minutes of audio, then many times real
 * time. A faster bot is paused for a while. One message of megabytes takes 10 ms; with a share of 2 % that
 * happens once a second, which 99 of 100 frames of the other calls do not notice.
 */
const BURST_MS = 30
const SHARE = 0.02
/** Cost of a byte (ms): measured with megabytes of base64. */
const BYTE_MS = 5e-6
/** Credit (ms) at which a paused bot is read again. */
const RESUME_MS = 2
/**
 * A chunk of the stream that takes longer than this (ms) is expensive, whatever its messages were charged ...
 */
const SLOW_MS = 2
/** ... unless the host stalled: this much (ms) is forgiven, then a share as of anything else. */
const GRACE_MS = 200

/** Accounts for the cost of reading a connection and pauses it when the budget is spent. */
export class ReadBudget {
  readonly #clock: Clock
  readonly #scope: Scope
  readonly #pause: (on: boolean) => void
  #creditMs = BURST_MS
  #creditAtMs: number
  #paused = false
  /** Start of the chunk being read, and the cost charged for its messages so far. */
  #chunkStartMs = 0
  #chargedMs = 0
  #graceMs = GRACE_MS
  #graceAtMs: number

  /** `scope` owns the timer of a pause. */
  constructor(clock: Clock, scope: Scope, pause: (on: boolean) => void) {
    this.#clock = clock
    this.#scope = scope
    this.#pause = pause
    this.#creditAtMs = clock.now()
    this.#graceAtMs = this.#creditAtMs
  }

  /** Marks the start of a chunk. */
  beginRead(): void {
    this.#chunkStartMs = this.#clock.now()
    this.#chargedMs = 0
  }

  /**
   * Marks the end of a chunk. Charges the time beyond what its messages were charged: small but expensive
   * frames and messages.
   */
  endRead(): void {
    const nowMs = this.#clock.now()
    const tookMs = Math.min(nowMs - this.#chunkStartMs, BURST_MS)
    if (tookMs <= SLOW_MS || tookMs <= this.#chargedMs) return
    this.#graceMs = Math.min(GRACE_MS, this.#graceMs + (nowMs - this.#graceAtMs) * SHARE)
    this.#graceAtMs = nowMs
    this.#graceMs -= tookMs - this.#chargedMs
    if (this.#graceMs >= 0) return
    this.#spend(-this.#graceMs)
    this.#graceMs = 0
  }

  /** `messageMs` is the cost of the messages besides their bytes. */
  charge(bytes: number, messageMs: number): void {
    this.#spend(messageMs + bytes * BYTE_MS)
  }

  #spend(ms: number): void {
    this.#chargedMs += ms
    this.#creditMs -= ms
    if (this.#creditMs >= 0) return
    const now = this.#clock.now()
    this.#creditMs = Math.min(BURST_MS, this.#creditMs + (now - this.#creditAtMs) * SHARE)
    this.#creditAtMs = now
    if (this.#creditMs >= 0 || this.#paused) return
    this.#paused = true
    this.#pause(true)
    const waitMs = Math.ceil((RESUME_MS - this.#creditMs) / SHARE)
    this.#scope.after(this.#clock, waitMs, () => {
      this.#paused = false
      this.#pause(false)
    })
  }
}
