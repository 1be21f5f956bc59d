import { isIP } from 'node:net'
import type { Timer } from '../../../media/base/clock.js'
import type { App } from '../app/control-port.js'
import { parseAddress } from '../message/name-addr.js'
import { paramOf, parseUri, splitList } from '../message/sip-header.js'
import { type Header, headerOf, headersOf, type SipMessage } from '../message/sip-message.js'
import { mayName } from '../routing/named-address.js'
import { type NextHop, nextHopAt } from '../routing/next-hop.js'
import type { OkRetransmitter } from '../transaction/ok-retransmitter.js'
import type { ReliableResponses } from '../transaction/reliable-responses.js'
import { isPrivate } from '../transport/local-address.js'
import type { Flow } from '../transport/transport.js'
import type { SessionTimer } from './session-expires.js'

/** Methods that refresh the remote target (RFC 3261 12.2, RFC 3311, RFC 6665). */
const TARGET_REFRESHES: ReadonlySet<string> = new Set(['INVITE', 'UPDATE', 'SUBSCRIBE', 'NOTIFY'])

/** The state of our latest INVITE in a dialog. */
export interface LocalInvite {
  readonly cseq: number
  readonly phase: 'open' | 'answered' | 'failed'
  /** True if the INVITE carries an offer, which must not cross another one (RFC 3264 4). */
  readonly hasOffer: boolean
  /** The ACK of the 2xx once it was sent, for retransmission. */
  ack: { readonly bytes: Buffer; readonly flow: Flow } | null
  readonly cancelled: boolean
  /** Cancels the INVITE if it is still open. */
  abort(): void
}

export interface DialogInit {
  readonly role: 'uac' | 'uas'
  readonly method: 'INVITE' | 'SUBSCRIBE'
  readonly callId: string
  readonly localTag: string
  readonly remoteTag: string
  /** The From value of our own requests in this dialog, with tag. */
  readonly local: string
  /** The To value of our own requests, with the tag of the peer once it is known. */
  readonly remote: string
  readonly localSeq: number
  readonly remoteSeq: number
  readonly routeSet: readonly string[]
  readonly remoteTarget: string
  /** Source address of the message that created the dialog. */
  readonly peer: string
  readonly app: App
  /** Transaction id of the request that created the dialog, as the application knows it. */
  readonly transactionId: string
  /** The latest Contact we sent. */
  readonly contact: string
}

/** The state of one dialog (RFC 3261 12). It sends and receives nothing itself. */
export class Dialog {
  readonly id: string
  readonly role: 'uac' | 'uas'
  readonly method: 'INVITE' | 'SUBSCRIBE'
  readonly callId: string
  readonly localTag: string
  readonly remoteTag: string
  readonly local: string
  remote: string
  /** Replaced when an application reconnects and uses the dialog again. */
  app: App
  readonly transactionId: string
  /** Set by the first response that creates the dialog; for a UAC again by the 2xx. */
  routeSet: readonly string[]
  localSeq: number
  /** Highest CSeq number of requests of the peer; 0 before the first. */
  remoteSeq: number
  remoteTarget: string
  readonly peer: string
  contact: string
  /** For a peer behind a NAT: the next hop of requests, in place of the remote target. */
  natNextHop: NextHop | null = null
  /** The connection of the latest message, reused while it is open. */
  connection: Flow | null = null
  /** Our 2xx responses that wait for their ACK, by CSeq number. */
  readonly okRetransmitters = new Map<number, OkRetransmitter>()
  /** Our latest INVITE in this dialog, including the initial one. */
  localInvite: LocalInvite | null = null
  /** Transaction id of an INVITE of the peer that our application has not answered yet. */
  pendingRemoteInvite: string | null = null
  /** Transaction ids of all requests of the peer in this dialog that our application has not answered. */
  readonly unansweredRequests = new Set<string>()
  /** True if an UPDATE of the peer waits for the response of our application. */
  pendingRemoteUpdate = false
  /** Number of our UPDATEs with an offer that have no final response yet. */
  pendingLocalUpdates = 0
  /** Our reliable provisional responses to the INVITE being answered (RFC 3262). */
  reliableResponses: ReliableResponses | null = null
  /** RSeq of the latest reliable provisional response to our latest INVITE. */
  lastRseq: number | null = null
  /**
   * Reliable responses of the peer that our application has not acknowledged; a PRACK takes its RAck from
   * here.
   */
  readonly pendingPracks: { readonly rseq: number; readonly cseq: number }[] = []
  /** The latest session description we sent that is in force; a session refresh repeats it. */
  localSdp: Buffer | null = null
  sessionTimer: SessionTimer | null = null
  /** Ends a subscription that is not refreshed. */
  expiryTimer: Timer | null = null
  ended = false

  constructor(init: DialogInit) {
    const initiator = init.role === 'uac' ? init.localTag : init.remoteTag
    this.id = dialogId(init.callId, initiator)
    this.role = init.role
    this.method = init.method
    this.callId = init.callId
    this.localTag = init.localTag
    this.remoteTag = init.remoteTag
    this.local = init.local
    this.remote = init.remote
    this.localSeq = init.localSeq
    this.remoteSeq = init.remoteSeq
    this.routeSet = init.routeSet
    this.remoteTarget = init.remoteTarget
    this.peer = init.peer
    this.app = init.app
    this.transactionId = init.transactionId
    this.contact = init.contact
  }

  /**
   * Stores the source of a message, and its Contact when the method is a target refresh (RFC 3261 12.2). A peer that
   * has been behind a NAT stays there as long as its Contact is the same. A new Contact is reached at its own
   * address, or behind a NAT at the source of the message.
   */
  refreshTarget(message: SipMessage, method: string, flow: Flow, nat: boolean): void {
    if (flow.reliable) this.connection = flow
    if (!TARGET_REFRESHES.has(method)) return
    const contact = contactUri(message)
    if (contact === null) return
    const isNew = contact !== this.remoteTarget
    this.remoteTarget = contact
    if (flow.reliable || this.routeSet.length > 0) return
    const isHidden = isNew ? nat && isBehindNat('uac', [], contact, flow.remote) : this.natNextHop !== null
    this.natNextHop = isHidden ? nextHopAt(flow.transport, flow.remote) : null
  }

  /** Stops all retransmissions and timers of the dialog. Idempotent. */
  end(): void {
    this.ended = true
    for (const answer of this.okRetransmitters.values()) answer.stop()
    this.okRetransmitters.clear()
    this.reliableResponses?.stop()
    this.sessionTimer?.timer.cancel()
    this.sessionTimer = null
    this.expiryTimer?.cancel()
    this.expiryTimer = null
  }

  /** Returns Request-URI, Route headers and next hop URI for a request of ours (RFC 3261 12.2.1.1). */
  route(uri: string): { readonly uri: string; readonly routes: readonly Header[]; readonly nextHop: string } {
    const [first, ...rest] = this.routeSet
    if (first === undefined) return { uri, routes: [], nextHop: uri }
    const firstUri = parseAddress(first)?.uri ?? first
    const loose = paramOf(parseUri(firstUri)?.params ?? '', 'lr') !== null
    // A strict router expects its own URI in the Request-URI and the target as the last Route.
    const set = loose ? this.routeSet : [...rest, `<${uri}>`]
    return {
      uri: loose ? uri : firstUri,
      routes: set.map((value) => ({ name: 'Route', value })),
      nextHop: firstUri,
    }
  }
}

/** Returns the dialog id. The format is part of the protocol: drachtio-srf builds the same text. */
export function dialogId(callId: string, initiatorTag: string): string {
  return `${callId};from-tag=${initiatorTag}`
}

/** Returns the URI of the first Contact, or null without one. */
export function contactUri(message: SipMessage): string | null {
  const value = headerOf(message, 'Contact')
  return value === null ? null : (parseAddress(splitList(value)[0] ?? '')?.uri ?? null)
}

/** Returns whether a NOTIFY ends the dialog of its SUBSCRIBE (RFC 6665 4.4.1). */
export function endsSubscription(notify: SipMessage): boolean {
  return /^\s*terminated\b/i.test(headerOf(notify, 'Subscription-State') ?? '')
}

/** Returns all Record-Route elements in order of appearance. */
export function recordRoutes(message: SipMessage): readonly string[] {
  return headersOf(message, 'Record-Route').flatMap((line) => splitList(line))
}

/**
 * Returns whether requests have to go to the source address of the peer, because its Contact or its first route
 * cannot be its real address.
 */
export function isBehindNat(
  role: 'uac' | 'uas',
  routeSet: readonly string[],
  target: string,
  source: { readonly address: string; readonly port: number },
): boolean {
  if (routeSet.length > 0) {
    const first = parseUri(parseAddress(routeSet[0] ?? '')?.uri ?? '')
    if (first === null || first.host === source.address) return false
    if (role === 'uac' && isPrivate(first.host)) return true
    return isIP(first.host) !== 0 && !mayName(first.host, source.address)
  }
  const contact = parseUri(target)
  if (contact === null) return false
  if (contact.host !== source.address) return true
  return role === 'uas' && contact.port !== null && contact.port !== source.port
}

/** The live dialogs, by the id that applications use and by the ids in messages. */
export class DialogTable {
  readonly #byId = new Map<string, Dialog>()
  readonly #byCallId = new Map<string, Set<Dialog>>()

  get size(): number {
    return this.#byId.size
  }

  all(): readonly Dialog[] {
    return [...this.#byId.values()]
  }

  find(id: string): Dialog | null {
    return this.#byId.get(id) ?? null
  }

  /** Returns any live dialog with this Call-ID, or null. */
  findByCallId(callId: string): Dialog | null {
    for (const dialog of this.#byCallId.get(callId) ?? []) return dialog
    return null
  }

  /** Returns the dialog of a received request, or null. */
  match(callId: string, fromTag: string, toTag: string): Dialog | null {
    const asUas = this.#byId.get(dialogId(callId, fromTag))
    if (asUas?.role === 'uas' && asUas.localTag === toTag) return asUas
    const asUac = this.#byId.get(dialogId(callId, toTag))
    return asUac?.role === 'uac' && asUac.remoteTag === fromTag ? asUac : null
  }

  add(dialog: Dialog): void {
    this.#byId.set(dialog.id, dialog)
    const findByCallId = this.#byCallId.get(dialog.callId)
    if (findByCallId) findByCallId.add(dialog)
    else this.#byCallId.set(dialog.callId, new Set([dialog]))
  }

  /** Ends and removes the dialog. Idempotent. */
  remove(dialog: Dialog): void {
    if (dialog.ended) return
    dialog.end()
    if (this.#byId.get(dialog.id) === dialog) this.#byId.delete(dialog.id)
    const findByCallId = this.#byCallId.get(dialog.callId)
    findByCallId?.delete(dialog)
    if (findByCallId?.size === 0) this.#byCallId.delete(dialog.callId)
  }
}
