import type { Timer } from '../../../media/base/clock.js'
import type { App } from '../app/control-port.js'
import type { Core } from '../core.js'
import type { Dialog, LocalInvite } from '../dialog/dialog.js'
import { newBranch, newTag, newUuid } from '../ids.js'
import type { Essentials } from '../message/message-validation.js'
import {
  type Header,
  headerOf,
  headersOf,
  NO_BODY,
  type SipRequest,
  type SipResponse,
  serialise,
} from '../message/sip-message.js'
import { type Destination, type NextHops, resolveNextHops } from '../routing/destination.js'
import { type NextHop, nextHopKey, openFlow } from '../routing/next-hop.js'
import {
  ClientTransaction,
  clientTransactionKey,
  type TransactionFailure,
} from '../transaction/client-transaction.js'
import { closedFlow, type Flow } from '../transport/transport.js'
import { viaOf } from './own-headers.js'
import type { PendingRequest } from './pending-requests.js'
import { withTag } from './responses.js'

/** Upper bound (s) of Retry-After, so that a server cannot take itself out of service for a day. */
const MAX_RETRY_AFTER_S = 300

export interface OutgoingRequestSpec {
  /** The application that sent the request, null for a request of the server itself. */
  readonly app: App | null
  readonly destination: Destination
  readonly dialogId: string
  readonly cseq: number
  /** True if the request carries an offer. */
  readonly hasOffer: boolean
  /** Returns the request without Via, as it leaves over this transport to this peer. */
  compose(flow: { readonly transport: Flow['transport']; readonly peer: string }): SipRequest
  /** Called after the first attempt, or when none was possible: the application learns the transaction id. */
  onSent(bytes: Buffer, flow: Flow): void
  /** Called when nothing was or will be sent. */
  onRefused(reason: string): void
  onResponse(response: SipResponse, essentials: Essentials, flow: Flow): void
  /** Called for every provisional response, including a 100, which applications do not receive. */
  onProvisional?(): void
  /** Called for a failure without a response, with the response that the application shall see. */
  onFailure(response: SipResponse, protocol: string): void
}

/** Headers that a CANCEL does not copy from the application. */
const NOT_IN_CANCEL: ReadonlySet<string> = new Set([
  'Via',
  'Route',
  'From',
  'To',
  'Call-ID',
  'CSeq',
  'Contact',
  'Max-Forwards',
  'P-Asserted-Identity',
  'Content-Type',
])

/**
 * A request until its final response: resolves the destination, tries its next hops in order (RFC 3263 4.3),
 * and delays a CANCEL until it may be sent.
 */
export class OutgoingRequest implements LocalInvite, PendingRequest {
  readonly id = newUuid()
  readonly cseq: number
  readonly dialogId: string
  readonly app: App | null
  readonly hasOffer: boolean
  /** Early dialogs of our INVITE, by To tag. */
  readonly forks = new Map<string, Dialog>()
  phase: 'open' | 'answered' | 'failed' = 'open'
  ack: { readonly bytes: Buffer; readonly flow: Flow } | null = null
  /** To tag of the first 2xx; null before. */
  winningTag: string | null = null
  /** ACKs for the 2xx of further forks, by To tag. */
  readonly forkAcks = new Map<string, { readonly bytes: Buffer; readonly flow: Flow }>()
  readonly #core: Core
  readonly #spec: OutgoingRequestSpec
  #remaining: NextHop[] = []
  #transaction: ClientTransaction | null = null
  #reportedSent = false
  #cancel: readonly Header[] | null = null
  #cancelSent = false
  #cancelDeadline: Timer | null = null

  constructor(core: Core, spec: OutgoingRequestSpec) {
    this.#core = core
    this.#spec = spec
    this.cseq = spec.cseq
    this.dialogId = spec.dialogId
    this.app = spec.app
    this.hasOffer = spec.hasOffer
  }

  get cancelled(): boolean {
    return this.#cancel !== null
  }

  get flow(): Flow | null {
    return this.#transaction?.flow ?? null
  }

  get request(): SipRequest | null {
    return this.#transaction?.request ?? null
  }

  start(): void {
    resolveNextHops(this.#core, this.#spec.destination, (result) => this.#onResolved(result))
  }

  /**
   * Requests a CANCEL of the INVITE: sent at once after a provisional response, else with the first one (RFC
   * 3261 9.1). Returns the CANCEL, or null when it is too late.
   */
  cancel(headers: readonly Header[]): { readonly bytes: Buffer; readonly flow: Flow } | null {
    const transaction = this.#transaction
    if (this.phase !== 'open' || transaction === null || transaction.request.method !== 'INVITE') return null
    this.#cancel ??= headers
    const bytes = serialise(this.#cancelRequest(transaction.request))
    if (transaction.proceeding) this.#sendCancel(transaction)
    return { bytes, flow: transaction.flow }
  }

  abort(): void {
    this.cancel([])
  }

  #onResolved(result: NextHops): void {
    if (result.kind === 'no transport') {
      this.#finish('failed')
      this.#spec.onRefused('requested protocol/transport not available')
      return
    }
    if (result.kind !== 'found') {
      const { transport } = result
      const composed = this.#spec.compose({ transport, peer: transport.bound.address })
      const request = withVia(composed, viaOf(transport, transport.bound.address, newBranch()))
      const remote = transport.advertised(transport.bound.address)
      this.#reportSent(serialise(request), closedFlow(transport, remote))
      if (result.kind === 'flow failed') this.#fail(request, 430, 'Flow Failed', transport.protocol)
      else if (result.kind === 'flow closed') this.#fail(request, 410, 'Gone', transport.protocol)
      else this.#fail(request, 503, 'DNS Error', transport.protocol)
      return
    }
    this.#remaining = [...result.nextHops]
    this.#attempt()
  }

  #attempt(): void {
    const next = this.#remaining.shift()
    if (next === undefined) return
    const nextHop = this.#fitToSize(next)
    const flow = openFlow(nextHop)
    const request = this.#requestFor(nextHop)
    const key = clientTransactionKey(branchKey(request), request.method)
    const hopKey = nextHopKey(nextHop)
    let answered = false
    let trial: Timer | null = null
    const transaction = new ClientTransaction(request, flow, this.#core.clock, this.#core.timers, {
      onResponse: (response, essentials, from) => {
        if (!answered) this.#core.quarantine.release(hopKey)
        answered = true
        trial?.cancel()
        this.#received(transaction, nextHop, response, essentials, from)
      },
      onFailure: (failure) => {
        if (!answered) this.#core.quarantine.put(hopKey, this.#core.timers.quarantine)
        this.#onTransactionFailure(request, flow, failure)
      },
      onEnd: () => {
        trial?.cancel()
        this.#core.clientTransactions.delete(key)
      },
    })
    if (nextHop === next.overTcp && request.method === 'INVITE') {
      const { clock, scope, timers, quarantine } = this.#core
      trial = scope.after(clock, timers.tcpTrial, () => {
        if (answered || this.phase !== 'open' || this.#cancel !== null) return
        quarantine.put(hopKey, timers.silentTcp)
        transaction.close()
        this.#core.clientTransactions.delete(key)
        this.#attempt()
      })
    }
    this.#transaction = transaction
    this.#core.clientTransactions.set(key, transaction)
    this.#core.outgoing.set(this.id, this)
    transaction.start()
    this.#reportSent(transaction.bytes, flow)
  }

  #requestFor({ transport, remote }: NextHop): SipRequest {
    const composed = this.#spec.compose({ transport, peer: remote.address })
    return withVia(composed, viaOf(transport, remote.address, newBranch()))
  }

  /**
   * Returns the next hop for the size of the request: above the datagram limit TCP comes first, and UDP stays
   * as the alternative for a peer without TCP (RFC 3261 18.1.1).
   */
  #fitToSize(nextHop: NextHop): NextHop {
    const { overTcp } = nextHop
    if (overTcp === null || this.#core.quarantine.has(nextHopKey(overTcp))) return nextHop
    if (serialise(this.#requestFor(nextHop)).length <= this.#core.limits.datagramBytes) return nextHop
    this.#remaining.unshift({ ...nextHop, overTcp: null })
    return overTcp
  }

  #reportSent(bytes: Buffer, flow: Flow): void {
    if (this.#reportedSent) return
    this.#reportedSent = true
    this.#spec.onSent(bytes, flow)
  }

  #received(
    transaction: ClientTransaction,
    nextHop: NextHop,
    response: SipResponse,
    essentials: Essentials,
    flow: Flow,
  ): void {
    if (response.status < 200) {
      this.#spec.onProvisional?.()
      if (this.#cancel !== null && !this.#cancelSent) this.#sendCancel(transaction)
      if (this.phase === 'open' && response.status > 100) this.#spec.onResponse(response, essentials, flow)
      return
    }
    if (
      this.phase === 'open' &&
      response.status === 503 &&
      nextHop.fromSrv &&
      this.#failOver(nextHop, response)
    )
      return
    if (this.phase === 'open') this.#finish(response.status < 300 ? 'answered' : 'failed')
    else if (response.status >= 300 || this.winningTag === null) return
    this.#spec.onResponse(response, essentials, flow)
  }

  /**
   * Tries the next server after a 503 and quarantines the overloaded one for its Retry-After. Returns false
   * when no server is left.
   */
  #failOver(nextHop: NextHop, response: SipResponse): boolean {
    if (this.#remaining.length === 0 || this.#cancel !== null) return false
    const seconds = /^\d{1,4}/.exec(headerOf(response, 'Retry-After') ?? '')?.[0]
    if (seconds !== undefined) {
      this.#core.quarantine.put(nextHopKey(nextHop), Math.min(Number(seconds), MAX_RETRY_AFTER_S) * 1000)
    }
    this.#attempt()
    return true
  }

  #onTransactionFailure(request: SipRequest, flow: Flow, failure: TransactionFailure): void {
    if (this.phase !== 'open') return
    if (failure === 'timer C') {
      this.abort()
      return
    }
    if (this.#remaining.length > 0 && this.#cancel === null) {
      this.#attempt()
      return
    }
    if (failure === 'timeout') this.#fail(request, 408, 'Request Timeout', flow.protocol)
    else this.#fail(request, 503, 'Service Unavailable', flow.protocol)
  }

  #fail(request: SipRequest, status: number, reason: string, protocol: string): void {
    this.#finish('failed')
    this.#spec.onFailure(syntheticResponse(request, status, reason), protocol)
  }

  #finish(phase: 'answered' | 'failed'): void {
    this.phase = phase
    this.#cancelDeadline?.cancel()
    this.#core.outgoing.delete(this.id)
  }

  #sendCancel(invite: ClientTransaction): void {
    if (this.#cancelSent) return
    this.#cancelSent = true
    const core = this.#core
    const request = this.#cancelRequest(invite.request)
    const key = clientTransactionKey(branchKey(invite.request), 'CANCEL')
    const transaction = new ClientTransaction(request, invite.flow, core.clock, core.timers, {
      onResponse: () => {},
      onFailure: () => {},
      onEnd: () => core.clientTransactions.delete(key),
    })
    core.clientTransactions.set(key, transaction)
    transaction.start()
    // RFC 3261 9.1: without a final response within 64 T1 the INVITE counts as cancelled.
    this.#cancelDeadline = core.scope.after(core.clock, core.timers.transactionTimeout, () => {
      if (this.phase !== 'open') return
      this.#fail(invite.request, 487, 'Request Terminated', invite.flow.protocol)
      invite.close()
      core.clientTransactions.delete(clientTransactionKey(branchKey(invite.request), 'INVITE'))
    })
  }

  #cancelRequest(invite: SipRequest): SipRequest {
    const value = (name: string) => headerOf(invite, name) ?? ''
    return {
      kind: 'request',
      method: 'CANCEL',
      uri: invite.uri,
      headers: [
        { name: 'Via', value: value('Via') },
        ...headersOf(invite, 'Route').map((route) => ({ name: 'Route', value: route })),
        { name: 'Max-Forwards', value: '70' },
        { name: 'From', value: value('From') },
        { name: 'To', value: value('To') },
        { name: 'Call-ID', value: value('Call-ID') },
        { name: 'CSeq', value: `${this.cseq} CANCEL` },
        ...(this.#cancel ?? []).filter((header) => !NOT_IN_CANCEL.has(header.name)),
      ],
      body: NO_BODY,
    }
  }
}

function branchKey(request: SipRequest): string {
  return /;branch=([^;,\s]+)/.exec(headerOf(request, 'Via') ?? '')?.[1] ?? ''
}

function withVia(request: SipRequest, via: string): SipRequest {
  return { ...request, headers: [{ name: 'Via', value: via }, ...request.headers] }
}

/** Returns the response an application sees for a failure without a response. */
function syntheticResponse(request: SipRequest, status: number, reason: string): SipResponse {
  const value = (name: string) => headerOf(request, name) ?? ''
  const to = value('To')
  return {
    kind: 'response',
    status,
    reason,
    headers: [
      { name: 'Via', value: value('Via') },
      { name: 'From', value: value('From') },
      { name: 'To', value: withTag(to, newTag()) },
      { name: 'Call-ID', value: value('Call-ID') },
      { name: 'CSeq', value: value('CSeq') },
    ],
    body: NO_BODY,
  }
}
