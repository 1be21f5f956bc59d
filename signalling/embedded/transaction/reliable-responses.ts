import type { Clock, Timer } from '../../../media/base/clock.js'
import type { Flow } from '../transport/transport.js'
import type { Timers } from './timers.js'

/** Maximum number of reliable responses that wait for the PRACK of their predecessor. */
const MAX_WAITING = 16
/** RSeq starts at a random number far below 2^31, so that it never wraps during a call (RFC 3262 3). */
const FIRST_RSEQ_LIMIT = 1_000_000_000

interface Sent {
  readonly rseq: number
  readonly bytes: Buffer
  /** Passes the bytes to the transaction, as its latest response. */
  readonly transmit: () => void
}

/**
 * The reliable provisional responses to one INVITE (RFC 3262 3). One is retransmitted at intervals that
 * double from T1 until its PRACK arrives; then the next one follows. Calls `unacknowledged` once when no
 * PRACK arrived within 64 T1. Reliable transports need no retransmission.
 */
export class ReliableResponses {
  /** CSeq number of the INVITE, which the RAck has to repeat. */
  readonly cseq: number
  readonly #flow: Flow
  readonly #clock: Clock
  readonly #timers: Timers
  readonly #unacknowledged: () => void
  /** The first response is in progress; the others wait. */
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

  /** Returns the RSeq of the next response, or null when too many responses wait. */
  nextRSeq(): number | null {
    if (this.#stopped || this.#queue.length >= MAX_WAITING) return null
    this.#rseq += 1
    return this.#rseq
  }

  send(rseq: number, bytes: Buffer, transmit: () => void): void {
    this.#queue.push({ rseq, bytes, transmit })
    if (this.#queue.length === 1) this.#begin()
  }

  /** Accepts a PRACK and returns true when its RAck matches the response in progress. */
  acknowledge(rseq: number, cseq: number): boolean {
    const [first] = this.#queue
    if (first === undefined || first.rseq !== rseq || cseq !== this.cseq) return false
    this.#queue.shift()
    this.#cancel()
    if (!this.#stopped && this.#queue.length > 0) this.#begin()
    return true
  }

  /** Ends retransmission after a final response. The PRACK of the response in progress is still accepted. */
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
