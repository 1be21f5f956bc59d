import type { Clock, Timer } from '../../../media/base/clock.js'
import type { Flow } from '../transport/transport.js'
import type { Timers } from './timers.js'

/** Further reliable responses that may wait for the PRACK of the one before. */
const MAX_WAITING = 16
/** RSeq starts at random, far below 2^31 so that it never wraps in a call (RFC 3262 3). */
const FIRST_RSEQ_LIMIT = 1_000_000_000

interface Sent {
  readonly rseq: number
  readonly bytes: Buffer
  /** Gives the bytes to the transaction, as its latest response. */
  readonly transmit: () => void
}

/**
 * The reliable provisional responses to one INVITE (RFC 3262 3): one at a time, repeated from T1
 * doubling until its PRACK; the next one follows then. Calls `unacknowledged` once after 64 T1.
 * Over reliable transports nothing is repeated, only timed.
 */
export class ReliableResponses {
  /** CSeq number of the INVITE: what a RAck has to name. */
  readonly cseq: number
  readonly #flow: Flow
  readonly #clock: Clock
  readonly #timers: Timers
  readonly #unacknowledged: () => void
  /** The first is under way, the others wait. */
  readonly #queue: Sent[] = []
  #rseq = 1 + Math.floor(Math.random() * FIRST_RSEQ_LIMIT)
  #deadline: Timer | null = null
  #repeat: Timer | null = null
  #stopped = false

  constructor(cseq: number, flow: Flow, clock: Clock, timers: Timers, unacknowledged: () => void) {
    this.cseq = cseq
    this.#flow = flow
    this.#clock = clock
    this.#timers = timers
    this.#unacknowledged = unacknowledged
  }

  /** The RSeq of the next response; null when too many wait. */
  nextRSeq(): number | null {
    if (this.#stopped || this.#queue.length >= MAX_WAITING) return null
    this.#rseq += 1
    return this.#rseq
  }

  send(rseq: number, bytes: Buffer, transmit: () => void): void {
    this.#queue.push({ rseq, bytes, transmit })
    if (this.#queue.length === 1) this.#begin()
  }

  /** Whether a PRACK with that RAck fits: then its response counts as received. */
  acknowledge(rseq: number, cseq: number): boolean {
    const [first] = this.#queue
    if (first === undefined || first.rseq !== rseq || cseq !== this.cseq) return false
    this.#queue.shift()
    this.#cancel()
    if (!this.#stopped && this.#queue.length > 0) this.#begin()
    return true
  }

  /** A final response went out: nothing is repeated, but the PRACK under way still fits. */
  stop(): void {
    this.#stopped = true
    this.#cancel()
    this.#queue.splice(1)
  }

  #begin(): void {
    const [sent] = this.#queue
    if (sent === undefined) return
    sent.transmit()
    this.#deadline = this.#clock.after(this.#timers.transactionTimeout, () => {
      this.stop()
      this.#unacknowledged()
    })
    if (!this.#flow.reliable) this.#schedule(sent, this.#timers.T1)
  }

  #schedule(sent: Sent, ms: number): void {
    this.#repeat = this.#clock.after(ms, () => {
      this.#flow.send(sent.bytes)
      this.#schedule(sent, ms * 2)
    })
  }

  #cancel(): void {
    this.#deadline?.cancel()
    this.#repeat?.cancel()
    this.#deadline = null
    this.#repeat = null
  }
}
