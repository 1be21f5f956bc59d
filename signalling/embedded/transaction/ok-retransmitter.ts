import type { Clock, Timer } from '../../../media/base/clock.js'
import type { Flow } from '../transport/transport.js'
import type { Timers } from './timers.js'

/**
 * Retransmits a 2xx to an INVITE at intervals that double from T1 to T2, until `stop` (RFC 3261 13.3.1.4).
 * Reliable transports need no retransmission. Calls `unanswered` once when no ACK arrived within 64 T1.
 */
export class OkRetransmitter {
  readonly #bytes: Buffer
  readonly #flow: Flow
  readonly #clock: Clock
  readonly #timers: Timers
  readonly #deadline: Timer
  #repeat: Timer | null = null

  constructor(bytes: Buffer, flow: Flow, clock: Clock, timers: Timers, unanswered: () => void) {
    this.#bytes = bytes
    this.#flow = flow
    this.#clock = clock
    this.#timers = timers
    this.#deadline = clock.after(timers.transactionTimeout, () => {
      this.stop()
      unanswered()
    })
    if (!flow.reliable) this.#schedule(timers.T1)
  }

  stop(): void {
    this.#deadline.cancel()
    this.#repeat?.cancel()
    this.#repeat = null
  }

  #schedule(ms: number): void {
    this.#repeat = this.#clock.after(ms, () => {
      this.#flow.send(this.#bytes)
      this.#schedule(Math.min(ms * 2, this.#timers.T2))
    })
  }
}
