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
import { findWays, type Hop, type Way, type Ways } from '../routing/destination.js'
import { ClientTransaction, clientTransactionKey } from '../transaction/client-transaction.js'
import type { Flow } from '../transport/transport.js'
import { viaOf } from './own-headers.js'
import type { PendingRequest } from './pending-requests.js'

/** A server that asks for more is tried again all the same: nobody may switch himself off for a day. */
const MAX_RETRY_AFTER_S = 300

export interface OutgoingRequestSpec {
  /** The application that sent it, null for the server's own. */
  readonly app: App | null
  readonly destination: Hop
  readonly dialogId: string
  readonly cseq: number
  /** Whether the request carries an offer. */
  readonly hasOffer: boolean
  /** The request without Via, as it has to look when it leaves by that flow. */
  compose(flow: { readonly transport: Flow['transport']; readonly peer: string }): SipRequest
  /** The first attempt went out (or would have): the application learns its transaction id. */
  onSent(bytes: Buffer, flow: Flow): void
  /** Nothing was or will be sent. */
  onRefused(why: string): void
  onResponse(response: SipResponse, essentials: Essentials, flow: Flow): void
  /** Any sign of life, a 100 included, which is no response for the application. */
  onProvisional?(): void
  /** A failure without a response, given as the response the application shall see. */
  onFailure(response: SipResponse, protocol: string): void
}

/** Headers a CANCEL takes from the application are all but these. */
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
 * A request from an application to its final response: resolves the next hop, tries one
 * destination after the other (RFC 3263 4.3), and carries a CANCEL until it may be sent.
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
  /** ACKs of further forks' 2xx, by To tag. */
  readonly forkAcks = new Map<string, { readonly bytes: Buffer; readonly flow: Flow }>()
  readonly #core: Core
  readonly #plan: OutgoingRequestSpec
  #left: Way[] = []
  #transaction: ClientTransaction | null = null
  #announced = false
  #cancel: readonly Header[] | null = null
  #cancelSent = false
  #cancelDeadline: Timer | null = null

  constructor(core: Core, plan: OutgoingRequestSpec) {
    this.#core = core
    this.#plan = plan
    this.cseq = plan.cseq
    this.dialogId = plan.dialogId
    this.app = plan.app
    this.hasOffer = plan.hasOffer
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
    findWays(this.#core, this.#plan.destination, (ways) => this.#routed(ways))
  }

  /**
   * Wants the INVITE cancelled: at once when a provisional response was there, else with the first
   * one (RFC 3261 9.1). Returns the CANCEL as it is or will be sent; null when it is too late.
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

  #routed(ways: Ways): void {
    if (ways.found === 'no transport') {
      this.#finish('failed')
      this.#plan.onRefused('requested protocol/transport not available')
      return
    }
    if (ways.found !== 'some') {
      const { transport } = ways
      const composed = this.#plan.compose({ transport, peer: transport.bound.address })
      const request = withVia(composed, viaOf(transport, transport.bound.address, newBranch()))
      const remote = transport.advertised(transport.bound.address)
      const nowhere = { ...NOWHERE, protocol: transport.protocol, transport, remote }
      this.#announce(serialise(request), nowhere)
      if (ways.found === 'gone') this.#fail(request, 410, 'Gone', transport.protocol)
      else this.#fail(request, 503, 'DNS Error', transport.protocol)
      return
    }
    this.#left = [...ways.open]
    this.#attempt()
  }

  #attempt(): void {
    const next = this.#left.shift()
    if (next === undefined) return
    const way = this.#sized(next)
    const flow = way.open()
    const request = this.#requestFor(way)
    const key = clientTransactionKey(branchKey(request), request.method)
    let heard = false
    const transaction = new ClientTransaction(request, flow, this.#core.clock, this.#core.timers, {
      onResponse: (response, essentials, from) => {
        if (!heard) this.#core.quarantine.release(way.key)
        heard = true
        this.#received(transaction, way, response, essentials, from)
      },
      onReport: (what) => {
        if (!heard) this.#core.quarantine.put(way.key, this.#core.timers.quarantine)
        this.#reported(request, flow, what)
      },
      onEnd: () => this.#core.clientTransactions.delete(key),
    })
    this.#transaction = transaction
    this.#core.clientTransactions.set(key, transaction)
    this.#core.outgoing.set(this.id, this)
    transaction.start()
    this.#announce(transaction.bytes, flow)
  }

  #requestFor({ transport, remote }: Way): SipRequest {
    const composed = this.#plan.compose({ transport, peer: remote.address })
    return withVia(composed, viaOf(transport, remote.address, newBranch()))
  }

  /**
   * The way for a request of this size: above what a datagram should carry TCP comes first, and UDP
   * is left for a peer that has no TCP (RFC 3261 18.1.1).
   */
  #sized(way: Way): Way {
    const { large } = way
    if (large === null || this.#core.quarantine.has(large.key)) return way
    if (serialise(this.#requestFor(way)).length <= this.#core.limits.datagramBytes) return way
    this.#left.unshift({ ...way, large: null })
    return large
  }

  #announce(bytes: Buffer, flow: Flow): void {
    if (this.#announced) return
    this.#announced = true
    this.#plan.onSent(bytes, flow)
  }

  #received(
    transaction: ClientTransaction,
    way: Way,
    response: SipResponse,
    essentials: Essentials,
    flow: Flow,
  ): void {
    if (response.status < 200) {
      this.#plan.onProvisional?.()
      if (this.#cancel !== null && !this.#cancelSent) this.#sendCancel(transaction)
      if (this.phase === 'open' && response.status > 100) this.#plan.onResponse(response, essentials, flow)
      return
    }
    if (this.phase === 'open' && response.status === 503 && way.srv && this.#movesOn(way, response)) return
    if (this.phase === 'open') this.#finish(response.status < 300 ? 'answered' : 'failed')
    else if (response.status >= 300 || this.winningTag === null) return
    this.#plan.onResponse(response, essentials, flow)
  }

  /** An overloaded server of several: the next one is asked, and this one left alone as it wishes. */
  #movesOn(way: Way, response: SipResponse): boolean {
    if (this.#left.length === 0 || this.#cancel !== null) return false
    const seconds = /^\d{1,4}/.exec(headerOf(response, 'Retry-After') ?? '')?.[0]
    if (seconds !== undefined) {
      this.#core.quarantine.put(way.key, Math.min(Number(seconds), MAX_RETRY_AFTER_S) * 1000)
    }
    this.#attempt()
    return true
  }

  #reported(request: SipRequest, flow: Flow, what: 'timeout' | 'broken' | 'stale'): void {
    if (this.phase !== 'open') return
    if (what === 'stale') {
      this.abort()
      return
    }
    if (this.#left.length > 0 && this.#cancel === null) {
      this.#attempt()
      return
    }
    if (what === 'timeout') this.#fail(request, 408, 'Request Timeout', flow.protocol)
    else this.#fail(request, 503, 'Service Unavailable', flow.protocol)
  }

  #fail(request: SipRequest, status: number, reason: string, protocol: string): void {
    this.#finish('failed')
    this.#plan.onFailure(syntheticResponse(request, status, reason), protocol)
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
      onReport: () => {},
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

/** Stands for the flow of a request that could not even be addressed. */
const NOWHERE = {
  reliable: false,
  open: false,
  send: () => false,
  onBroken: () => () => {},
}

function branchKey(request: SipRequest): string {
  return /;branch=([^;,\s]+)/.exec(headerOf(request, 'Via') ?? '')?.[1] ?? ''
}

function withVia(request: SipRequest, via: string): SipRequest {
  return { ...request, headers: [{ name: 'Via', value: via }, ...request.headers] }
}

/** The response an application sees when there was none. */
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
      { name: 'To', value: /;\s*tag=/i.test(to) ? to : `${to};tag=${newTag()}` },
      { name: 'Call-ID', value: value('Call-ID') },
      { name: 'CSeq', value: value('CSeq') },
    ],
    body: NO_BODY,
  }
}
