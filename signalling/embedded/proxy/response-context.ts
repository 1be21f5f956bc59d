import type { Timer } from '../../../media/base/clock.js'
import type { Core } from '../core.js'
import { newTag } from '../ids.js'
import { parseAddress } from '../message/name-addr.js'
import { splitList } from '../message/sip-header.js'
import {
  type Header,
  headersOf,
  type SipRequest,
  type SipResponse,
  serialise,
} from '../message/sip-message.js'
import type { Destination } from '../routing/destination.js'
import { parseTarget } from '../routing/target.js'
import type { Flow, Transport } from '../transport/transport.js'
import { OutgoingRequest } from '../user-agent/outgoing-request.js'
import { isOwnUri } from '../user-agent/own-headers.js'
import type { ForwardedRequest, ReceivedRequest } from '../user-agent/pending-requests.js'
import { responseTo } from '../user-agent/responses.js'
import { bestFailure } from './best-response.js'

/** Maximum number of destinations of one request, including redirections. */
const MAX_DESTINATIONS = 32

/**
 * Tells the other destinations that the call was answered elsewhere (RFC 3326 2), so that no phone lists a
 * missed call.
 */
const ELSEWHERE: readonly Header[] = [
  { name: 'Reason', value: 'SIP;cause=200;text="Call completed elsewhere"' },
]

export interface ForwardingPlan {
  /** URIs in order of preference. */
  readonly destinations: readonly string[]
  /** True if all destinations are tried in parallel instead of in sequence. */
  readonly simultaneous: boolean
  /** True if the Contacts of a 3xx become destinations. */
  readonly followRedirects: boolean
  /** Maximum time (ms) until the first response of a destination; null without a limit. */
  readonly provisionalMs: number | null
  /** Returns the request without our Via, as it leaves for a destination. */
  compose(destination: string, transport: Transport, peer: string): SipRequest
  /** Rewrites a provisional response on its way to the sender; absent means unchanged. */
  rewriteProvisional?(response: SipResponse): SipResponse
  /** Called for a final response of a destination, before it is evaluated. */
  onFinal(response: SipResponse, flow: Flow): void
  /** Called once: a final response was sent back, or no destination could be reached. */
  onDone(status: number, reached: boolean): void
}

interface Branch {
  readonly outgoing: OutgoingRequest
  responseTimer: Timer | null
  open: boolean
}

/**
 * A proxied request with its branches, one client transaction each, and the response that goes back to the
 * sender: the response context of RFC 3261 16.
 *
 * Serves `proxy` commands of `parley sip-server`; calls of the service do not use it.
 */
export class ResponseContext implements ForwardedRequest {
  readonly #core: Core
  readonly #received: ReceivedRequest
  readonly #plan: ForwardingPlan
  readonly #targets: string[]
  readonly #branches: Branch[] = []
  readonly #failures: SipResponse[] = []
  #tried = 0
  #reached = false
  #done = false
  #cancel: readonly Header[] | null = null

  constructor(core: Core, received: ReceivedRequest, plan: ForwardingPlan) {
    this.#core = core
    this.#received = received
    this.#plan = plan
    this.#targets = [...plan.destinations]
  }

  start(): void {
    this.#core.responseContexts.set(this.#received.key, this)
    this.#advance()
  }

  /** RFC 3261 16.10: every open branch is cancelled; the 487 comes from there. */
  cancel(cancel: SipRequest): void {
    this.#cancel = headersOf(cancel, 'Reason').map((value) => ({ name: 'Reason', value }))
    this.#targets.length = 0
    this.#cancelBranches()
    this.#advance()
  }

  /** Tries the remaining destinations, or answers when no branch is open any more. */
  #advance(): void {
    while (!this.#done && this.#targets.length > 0) {
      if (!this.#plan.simultaneous && this.#branches.some((branch) => branch.open)) return
      const target = this.#targets.shift()
      if (target !== undefined) this.#try(target)
    }
    if (!this.#done && !this.#branches.some((branch) => branch.open)) this.#answerFailure()
  }

  #try(uri: string): void {
    const destination = this.#destinationOf(uri)
    if (destination === null || this.#tried >= MAX_DESTINATIONS) return
    this.#tried += 1
    const { essentials } = this.#received
    const outgoing: OutgoingRequest = new OutgoingRequest(this.#core, {
      app: null,
      destination,
      dialogId: '',
      cseq: essentials.cseq,
      hasOffer: false,
      compose: ({ transport, peer }) => this.#plan.compose(uri, transport, peer),
      onSent: (_bytes, flow) => {
        if (flow.open) this.#reached = true
        if (this.#cancel !== null || this.#done) outgoing.cancel(this.#cancel ?? [])
      },
      onRefused: () => this.#close(branch),
      onProvisional: () => branch.responseTimer?.cancel(),
      onResponse: (response, _essentials, flow) => this.#onResponse(branch, response, flow),
      onFailure: (response) => this.#failed(branch, response, false),
    })
    const branch: Branch = { outgoing, responseTimer: null, open: true }
    this.#branches.push(branch)
    if (this.#plan.provisionalMs !== null) {
      branch.responseTimer = this.#core.scope.after(this.#core.clock, this.#plan.provisionalMs, () => {
        outgoing.abort()
        this.#failed(branch, responseTo(this.#received.request, 408, '', null), false)
      })
    }
    outgoing.start()
  }

  #destinationOf(uri: string): Destination | null {
    const flow = this.#core.registeredFlows.find('INVITE', uri)
    if (flow) return { kind: 'flow', flow }
    if (isOwnUri(this.#core, uri)) return null
    const target = parseTarget(uri)
    return target === null ? null : { kind: 'target', target, peer: null }
  }

  #onResponse(branch: Branch, response: SipResponse, flow: Flow): void {
    const { status } = response
    branch.responseTimer?.cancel()
    if (status < 200) {
      if (this.#done) return
      const passed = this.#plan.rewriteProvisional?.(response) ?? response
      this.#received.transaction.respond(status, serialise(withoutTopVia(passed)))
      return
    }
    if (status < 300) {
      this.#succeeded(branch, response, flow)
      return
    }
    if (!branch.open) return
    if (this.#plan.followRedirects && status < 400 && this.#redirect(response)) {
      this.#close(branch)
      return
    }
    this.#plan.onFinal(response, flow)
    this.#failed(branch, withoutTopVia(response), true)
  }

  /** Forwards every 2xx, also a retransmission and that of another fork (RFC 3261 16.7 step 5). */
  #succeeded(branch: Branch, response: SipResponse, flow: Flow): void {
    branch.outgoing.winningTag ??= 'relayed'
    branch.open = false
    const bytes = serialise(withoutTopVia(response))
    if (this.#done) {
      if (this.#received.transaction.accepted) this.#received.flow.send(bytes)
      return
    }
    this.#plan.onFinal(response, flow)
    this.#received.transaction.respond(response.status, bytes)
    this.#finish(response.status)
    this.#cancel ??= ELSEWHERE
    this.#cancelBranches()
  }

  /**
   * Records the failure of a branch. `real` responses came from a destination; others stand for a failure to
   * reach it.
   */
  #failed(branch: Branch, response: SipResponse, real: boolean): void {
    if (!branch.open) return
    const { request } = this.#received
    const { status } = response
    this.#failures.push(real ? response : responseTo(request, status, response.reason, newTag()))
    const challenged = (status === 401 || status === 407) && !this.#plan.simultaneous
    if (status >= 600 || challenged) {
      this.#targets.length = 0
      this.#cancelBranches(branch)
    }
    this.#close(branch)
  }

  #close(branch: Branch): void {
    branch.responseTimer?.cancel()
    if (!branch.open) return
    branch.open = false
    this.#advance()
  }

  /** Turns the Contacts of a redirection into destinations. Returns false when there is no usable one. */
  #redirect(response: SipResponse): boolean {
    const contacts = headersOf(response, 'Contact')
      .flatMap((line) => splitList(line))
      .map((item) => parseAddress(item)?.uri ?? '')
      .filter((uri) => uri !== '' && parseTarget(uri) !== null)
    if (contacts.length === 0 || this.#cancel !== null) return false
    this.#targets.unshift(...contacts)
    return true
  }

  #cancelBranches(except: Branch | null = null): void {
    for (const branch of this.#branches) {
      if (branch === except || !branch.open) continue
      branch.responseTimer?.cancel()
      branch.outgoing.cancel(this.#cancel ?? [])
    }
  }

  #answerFailure(): void {
    const { transaction, request } = this.#received
    const status = this.#cancel === null ? 500 : 487
    const best = bestFailure(this.#failures) ?? responseTo(request, status, '', newTag())
    transaction.respond(best.status, serialise(best))
    this.#finish(best.status)
  }

  #finish(status: number): void {
    this.#done = true
    this.#core.responseContexts.delete(this.#received.key)
    this.#plan.onDone(status, this.#reached)
  }
}

/** Returns the response without our Via (RFC 3261 16.7 step 3). */
function withoutTopVia(response: SipResponse): SipResponse {
  const headers: Header[] = []
  let removed = false
  for (const header of response.headers) {
    if (removed || header.name !== 'Via') {
      headers.push(header)
      continue
    }
    removed = true
    const [, ...rest] = splitList(header.value)
    if (rest.length > 0) headers.push({ name: 'Via', value: rest.join(', ') })
  }
  return { ...response, headers }
}
