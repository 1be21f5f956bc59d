import type { Clock, Timer } from '../../../media/base/clock.js'
import type { Essentials } from '../message/message-validation.js'
import type { SipRequest } from '../message/sip-message.js'
import type { Flow } from '../transport/transport.js'
import type { Timers } from './timers.js'
import {
  type ServerInput,
  stepInviteServer,
  stepServer,
  type TransactionEffect,
  type TransactionState,
  type TransactionTimer,
} from './transaction-machine.js'

const MAGIC_COOKIE = 'z9hG4bK'

/** Maximum ratio of bytes sent to bytes received for an unverified source address. */
const AMPLIFICATION = 3

/**
 * Returns the key by which a request finds its transaction (RFC 3261 17.2.3): branch, sent-by and method, for
 * an ACK or CANCEL the method of its INVITE. Without the magic cookie the RFC 2543 rules apply: the whole
 * Via, Request-URI, Call-ID, CSeq number and From tag.
 */
export function serverTransactionKey(request: SipRequest, essentials: Essentials, method: string): string {
  const { via, callId, cseq, fromTag } = essentials
  const sentBy = `${via.host}:${via.port ?? ''}`
  const { branch } = via
  // The cookie alone is not a unique branch. A sender may also use one branch for several requests; what all messages
  // of one transaction have in common tells these apart.
  if (branch !== null && branch.length > MAGIC_COOKIE.length && branch.startsWith(MAGIC_COOKIE))
    return `${method}|${sentBy}|${branch}|${callId}|${cseq}`
  return `${method}|${sentBy}|${branch ?? ''}|${request.uri}|${callId}|${cseq}|${fromTag}`
}

export interface ServerHooks {
  /** A failure response to an INVITE was never acknowledged; the transaction ends. */
  onUnacknowledged(): void
  onEnd(): void
  /**
   * Tells whether the source address may be forged. It is asked before a 100 and at the final response. A request
   * without an earlier response is then forgotten with its final response (RFC 3261 8.2.7): a flood of forged
   * requests would fill the table, and a real sender repeats its request until it gets the response. An accepted
   * INVITE is kept.
   */
  readonly isForgettable?: () => boolean
}

/** Runs the effects of a server transaction machine. */
export class ServerTransaction {
  readonly flow: Flow
  readonly #clock: Clock
  readonly #timers: Timers
  readonly #hooks: ServerHooks
  readonly #invite: boolean
  readonly #running = new Map<TransactionTimer, Timer>()
  #state: TransactionState
  #last: Buffer | null = null
  #status = 0
  /**
   * Size of the request (bytes) when retransmissions are limited by the bytes received; null without a limit.
   */
  readonly #size: number | null
  #received = 0
  #sent = 0
  #provisional = false

  /**
   * With `size` (bytes), for a request from an unverified source address, responses are only retransmitted up
   * to three bytes sent for each byte received.
   */
  constructor(
    invite: boolean,
    flow: Flow,
    clock: Clock,
    timers: Timers,
    size: number | null,
    hooks: ServerHooks,
  ) {
    this.#size = size
    this.#received = size ?? 0
    this.flow = flow
    this.#clock = clock
    this.#timers = timers
    this.#hooks = hooks
    this.#invite = invite
    this.#state = { phase: invite ? 'proceeding' : 'trying', interval: 0 }
  }

  /** True if a 2xx was sent: its ACK then belongs to the dialog. */
  get accepted(): boolean {
    return this.#state.phase === 'accepted'
  }

  /** True if a final response is still pending. */
  get pending(): boolean {
    return this.#state.phase === 'proceeding' || this.#state.phase === 'trying'
  }

  /** True if a failure response was sent: some senders retry with the same CSeq. */
  get refused(): boolean {
    return this.#status >= 300
  }

  /** True if no response was sent yet and `ServerHooks.isForgettable` is true. */
  get forgettable(): boolean {
    return !this.#provisional && (this.#hooks.isForgettable?.() ?? false)
  }

  /** Handles a retransmission of the request. */
  onRetransmission(): void {
    this.#received += this.#size ?? 0
    this.#input({ type: 'request' })
  }

  onAck(): void {
    this.#input({ type: 'ack' })
  }

  /**
   * Sends a response. Returns false after a final response, and when the connection is closed, which ends the
   * transaction.
   */
  respond(status: number, bytes: Buffer): boolean {
    if (!this.pending) return false
    if (!this.flow.open) {
      this.abandon()
      return false
    }
    this.#last = bytes
    this.#status = status
    const forget = this.forgettable && (this.#invite ? status >= 300 : status >= 200)
    this.#provisional ||= status < 200
    this.#input({ type: status < 200 ? 'provisional' : status < 300 ? 'success' : 'failure' })
    if (forget) this.abandon()
    return true
  }

  /** Ends the transaction without a response, when the peer cannot be reached any more. */
  abandon(): void {
    this.close()
    this.#hooks.onEnd()
  }

  close(): void {
    for (const timer of this.#running.values()) timer.cancel()
    this.#running.clear()
    this.#state = { phase: 'terminated', interval: 0 }
  }

  #input(input: ServerInput): void {
    if (this.#state.phase === 'terminated') return
    const step = this.#invite ? stepInviteServer : stepServer
    const { next, effects } = step(this.#state, input, this.#timers, this.flow.reliable)
    this.#state = next
    for (const effect of effects) this.#run(effect)
    if (next.phase === 'terminated') {
      this.close()
      this.#hooks.onEnd()
    }
  }

  #run(effect: TransactionEffect): void {
    switch (effect.type) {
      case 'respond':
        this.#send()
        break
      case 'resend':
        if (this.#affordable()) this.#send()
        break
      case 'start':
        this.#start(effect.timer, effect.ms)
        break
      case 'stop':
        this.#running.get(effect.timer)?.cancel()
        this.#running.delete(effect.timer)
        break
      case 'report':
        this.#hooks.onUnacknowledged()
        break
      case 'pass':
      case 'acknowledge':
        break
    }
  }

  #send(): void {
    if (this.#last === null) return
    this.#sent += this.#last.length
    this.flow.send(this.#last)
  }

  #affordable(): boolean {
    if (this.#size === null || this.#last === null) return true
    return this.#sent + this.#last.length <= AMPLIFICATION * this.#received
  }

  #start(name: TransactionTimer, ms: number): void {
    this.#running.get(name)?.cancel()
    const timer = this.#clock.after(ms, () => {
      this.#running.delete(name)
      this.#input({ type: 'timer', timer: name })
    })
    this.#running.set(name, timer)
  }
}
