import type { Timer } from '../../../media/base/clock.js'
import type { Core } from '../core.js'
import { newTag } from '../ids.js'
import { parseAddress, splitList } from '../message/sip-header.js'
import {
  type Header,
  headersOf,
  type SipRequest,
  type SipResponse,
  serialise,
} from '../message/sip-message.js'
import type { Hop } from '../routing/destination.js'
import { parseTarget } from '../routing/target.js'
import type { Flow, Transport } from '../transport/transport.js'
import { OutgoingRequest } from '../user-agent/outgoing-request.js'
import { isOwnUri } from '../user-agent/own-headers.js'
import type { ForwardedRequest, ReceivedRequest } from '../user-agent/pending-requests.js'
import { responseTo } from '../user-agent/responses.js'
import { bestFailure } from './best-response.js'

/** Destinations tried for one request, redirections included. */
const MAX_DESTINATIONS = 32

/** Why the others stop ringing (RFC 3326 2), so that no phone lists a missed call. */
const ELSEWHERE: readonly Header[] = [
  { name: 'Reason', value: 'SIP;cause=200;text="Call completed elsewhere"' },
]

export interface ForwardingPlan {
  /** URIs in order of preference. */
  readonly destinations: readonly string[]
  /** All destinations at once; otherwise one after the other. */
  readonly simultaneous: boolean
  /** Whether the Contacts of a 3xx become destinations. */
  readonly followRedirects: boolean
  /** Time a destination has for its first response, in ms; null for no limit of its own. */
  readonly provisionalMs: number | null
  /** The request without our Via, as it leaves for a destination. */
  compose(destination: string, transport: Transport, peer: string): SipRequest
  /** A provisional response on its way to the sender; absent leaves it as it is. */
  rewriteProvisional?(response: SipResponse): SipResponse
  /** A final response of a destination, before it is judged. */
  onFinal(response: SipResponse, flow: Flow): void
  /** Once: a final response went back, or there was no destination at all to send to. */
  onDone(status: number, reached: boolean): void
}

interface Branch {
  readonly outgoing: OutgoingRequest
  patience: Timer | null
  open: boolean
}

/**
 * One request of a peer on its way through this server (RFC 3261 16): its branches, one transaction
 * each, and the response that goes back.
 */
export class ResponseContext implements ForwardedRequest {
  readonly #core: Core
  readonly #arrival: ReceivedRequest
  readonly #plan: ForwardingPlan
  readonly #targets: string[]
  readonly #branches: Branch[] = []
  readonly #failures: SipResponse[] = []
  #tried = 0
  #reached = false
  #done = false
  #cancel: readonly Header[] | null = null

  constructor(core: Core, arrival: ReceivedRequest, plan: ForwardingPlan) {
    this.#core = core
    this.#arrival = arrival
    this.#plan = plan
    this.#targets = [...plan.destinations]
  }

  start(): void {
    this.#core.responseContexts.set(this.#arrival.key, this)
    this.#advance()
  }

  /** RFC 3261 16.10: every open branch is cancelled; the 487 comes from there. */
  cancel(cancel: SipRequest): void {
    this.#cancel = headersOf(cancel, 'Reason').map((value) => ({ name: 'Reason', value }))
    this.#targets.length = 0
    this.#cancelBranches()
    this.#advance()
  }

  /** Tries what is left, or answers when nothing is under way any more. */
  #advance(): void {
    while (!this.#done && this.#targets.length > 0) {
      if (!this.#plan.simultaneous && this.#branches.some((branch) => branch.open)) return
      const target = this.#targets.shift()
      if (target !== undefined) this.#try(target)
    }
    if (!this.#done && !this.#branches.some((branch) => branch.open)) this.#giveUp()
  }

  #try(destination: string): void {
    const hop = this.#hop(destination)
    if (hop === null || this.#tried >= MAX_DESTINATIONS) return
    this.#tried += 1
    const { essentials } = this.#arrival
    const outgoing: OutgoingRequest = new OutgoingRequest(this.#core, {
      app: null,
      destination: hop,
      dialogId: '',
      cseq: essentials.cseq,
      hasOffer: false,
      compose: ({ transport, peer }) => this.#plan.compose(destination, transport, peer),
      onSent: (_bytes, flow) => {
        if (flow.open) this.#reached = true
        if (this.#cancel !== null || this.#done) outgoing.cancel(this.#cancel ?? [])
      },
      onRefused: () => this.#close(branch),
      onProvisional: () => branch.patience?.cancel(),
      onResponse: (response, _essentials, flow) => this.#received(branch, response, flow),
      onFailure: (response) => this.#failed(branch, response, false),
    })
    const branch: Branch = { outgoing, patience: null, open: true }
    this.#branches.push(branch)
    if (this.#plan.provisionalMs !== null) {
      branch.patience = this.#core.scope.after(this.#core.clock, this.#plan.provisionalMs, () => {
        outgoing.abort()
        this.#failed(branch, responseTo(this.#arrival.request, 408, '', null), false)
      })
    }
    outgoing.start()
  }

  #hop(destination: string): Hop | null {
    const flow = this.#core.registeredFlows.find('INVITE', destination)
    if (flow) return { by: 'registered', flow }
    if (isOwnUri(this.#core, destination)) return null
    const target = parseTarget(destination)
    return target === null ? null : { by: 'target', target }
  }

  #received(branch: Branch, response: SipResponse, flow: Flow): void {
    const { status } = response
    branch.patience?.cancel()
    if (status < 200) {
      if (this.#done) return
      const passed = this.#plan.rewriteProvisional?.(response) ?? response
      this.#arrival.transaction.respond(status, serialise(withoutTopVia(passed)))
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

  /** Every 2xx goes back, also a repeated one and another fork's (RFC 3261 16.7 step 5). */
  #succeeded(branch: Branch, response: SipResponse, flow: Flow): void {
    branch.outgoing.winningTag ??= 'relayed'
    branch.open = false
    const bytes = serialise(withoutTopVia(response))
    if (this.#done) {
      if (this.#arrival.transaction.accepted) this.#arrival.flow.send(bytes)
      return
    }
    this.#plan.onFinal(response, flow)
    this.#arrival.transaction.respond(response.status, bytes)
    this.#finish(response.status)
    this.#cancel ??= ELSEWHERE
    this.#cancelBranches()
  }

  /** `real` responses came from a destination; others only say what went wrong on the way. */
  #failed(branch: Branch, response: SipResponse, real: boolean): void {
    if (!branch.open) return
    const { request } = this.#arrival
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
    branch.patience?.cancel()
    if (!branch.open) return
    branch.open = false
    this.#advance()
  }

  /** The Contacts of a redirection as destinations; false when there is none to go to. */
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
      branch.patience?.cancel()
      branch.outgoing.cancel(this.#cancel ?? [])
    }
  }

  #giveUp(): void {
    const { transaction, request } = this.#arrival
    const status = this.#cancel === null ? 500 : 487
    const best = bestFailure(this.#failures) ?? responseTo(request, status, '', newTag())
    transaction.respond(best.status, serialise(best))
    this.#finish(best.status)
  }

  #finish(status: number): void {
    this.#done = true
    this.#core.responseContexts.delete(this.#arrival.key)
    this.#plan.onDone(status, this.#reached)
  }
}

/** The response as the one before us has to see it (RFC 3261 16.7 step 3). */
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
