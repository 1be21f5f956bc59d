import type { Clock, Timer } from '../../../media/base/clock.js'
import type { Essentials } from '../message/message-validation.js'
import {
  headerOf,
  headersOf,
  NO_BODY,
  type SipRequest,
  type SipResponse,
  serialise,
} from '../message/sip-message.js'
import type { Flow } from '../transport/transport.js'
import type { Timers } from './timers.js'
import {
  type ClientInput,
  startClient,
  startInviteClient,
  stepClient,
  stepInviteClient,
  type TransactionEffect,
  type TransactionState,
  type TransactionTimer,
  type Transition,
} from './transaction-machine.js'

/** Why a client transaction got no final response; timer C leaves an INVITE transaction in progress. */
export type TransactionFailure = 'timeout' | 'unreachable' | 'timer C'

export interface ClientHooks {
  onResponse(response: SipResponse, essentials: Essentials, flow: Flow): void
  /**
   * No response in time, peer unreachable (both end the transaction), or timer C (the transaction goes on).
   */
  onFailure(failure: TransactionFailure): void
  /** The last callback: the transaction can be removed from its table. */
  onEnd(): void
}

/** Returns the key by which a response finds its transaction (RFC 3261 17.1.3). */
export function clientTransactionKey(branch: string, method: string): string {
  return `${method}|${branch}`
}

/** Runs the effects of a client transaction machine. `request` has its own Via on top. */
export class ClientTransaction {
  readonly request: SipRequest
  readonly bytes: Buffer
  readonly flow: Flow
  readonly #clock: Clock
  readonly #timers: Timers
  readonly #hooks: ClientHooks
  readonly #invite: boolean
  readonly #running = new Map<TransactionTimer, Timer>()
  #state: TransactionState = { phase: 'terminated', interval: 0 }
  #unwatch: (() => void) | null = null
  #ack: Buffer | null = null

  constructor(request: SipRequest, flow: Flow, clock: Clock, timers: Timers, hooks: ClientHooks) {
    this.request = request
    this.bytes = serialise(request)
    this.flow = flow
    this.#clock = clock
    this.#timers = timers
    this.#hooks = hooks
    this.#invite = request.method === 'INVITE'
  }

  /** True if a CANCEL may be sent: RFC 3261 9.1 requires a provisional response first. */
  get proceeding(): boolean {
    return this.#state.phase === 'proceeding'
  }

  start(): void {
    this.#unwatch = this.flow.onBroken(() => this.#input({ type: 'unreachable' }))
    const begin = this.#invite ? startInviteClient : startClient
    this.#take(begin(this.#timers, this.flow.reliable), null)
  }

  receive(response: SipResponse, essentials: Essentials, flow: Flow): void {
    const on = response.status < 200 ? 'provisional' : response.status < 300 ? 'success' : 'failure'
    this.#input({ type: on }, { response, essentials, flow })
  }

  /** Ends the transaction without a callback. */
  close(): void {
    for (const timer of this.#running.values()) timer.cancel()
    this.#running.clear()
    this.#unwatch?.()
    this.#unwatch = null
    this.#state = { phase: 'terminated', interval: 0 }
  }

  #input(input: ClientInput, received: Received | null = null): void {
    if (this.#state.phase === 'terminated') return
    const step = this.#invite ? stepInviteClient : stepClient
    this.#take(step(this.#state, input, this.#timers, this.flow.reliable), received)
  }

  #take(step: Transition, received: Received | null): void {
    this.#state = step.next
    const { phase } = step.next
    if (phase !== 'calling' && phase !== 'trying') {
      this.#unwatch?.()
      this.#unwatch = null
    }
    for (const effect of step.effects) this.#run(effect, received)
    if (phase === 'terminated') {
      this.close()
      this.#hooks.onEnd()
    }
  }

  #run(effect: TransactionEffect, received: Received | null): void {
    switch (effect.type) {
      case 'resend':
        // The failure is reported in the next turn, because the caller is still setting up its state.
        if (!this.flow.send(this.bytes)) this.#clock.after(0, () => this.#input({ type: 'unreachable' }))
        break
      case 'acknowledge':
        if (received) this.#ack ??= serialise(failureAck(this.request, received.response))
        if (this.#ack) this.flow.send(this.#ack)
        break
      case 'pass':
        if (received) this.#hooks.onResponse(received.response, received.essentials, received.flow)
        break
      case 'start':
        this.#start(effect.timer, effect.ms)
        break
      case 'stop':
        this.#running.get(effect.timer)?.cancel()
        this.#running.delete(effect.timer)
        break
      case 'report':
        if (effect.failure !== 'no ACK') this.#hooks.onFailure(effect.failure)
        break
      case 'respond':
        break
    }
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

interface Received {
  readonly response: SipResponse
  readonly essentials: Essentials
  readonly flow: Flow
}

/** Builds the hop-by-hop ACK of a failure response, with the branch of the INVITE (RFC 3261 17.1.1.3). */
function failureAck(invite: SipRequest, response: SipResponse): SipRequest {
  return {
    kind: 'request',
    method: 'ACK',
    uri: invite.uri,
    headers: [
      { name: 'Via', value: headerOf(invite, 'Via') ?? '' },
      ...headersOf(invite, 'Route').map((value) => ({ name: 'Route', value })),
      { name: 'Max-Forwards', value: '70' },
      { name: 'From', value: headerOf(invite, 'From') ?? '' },
      { name: 'To', value: headerOf(response, 'To') ?? '' },
      { name: 'Call-ID', value: headerOf(invite, 'Call-ID') ?? '' },
      { name: 'CSeq', value: (headerOf(invite, 'CSeq') ?? '').replace('INVITE', 'ACK') },
    ],
    body: NO_BODY,
  }
}
