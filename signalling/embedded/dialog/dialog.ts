import type { Timer } from '../../../media/base/clock.js'
import type { App } from '../app/control-port.js'
import { paramOf, parseAddress, parseUri, splitList } from '../message/sip-header.js'
import { type Header, headerOf, headersOf, type SipMessage } from '../message/sip-message.js'
import type { Pin } from '../routing/next-hop.js'
import type { OkRetransmitter } from '../transaction/ok-retransmitter.js'
import type { ReliableResponses } from '../transaction/reliable-responses.js'
import { isPrivate } from '../transport/local-address.js'
import type { Flow } from '../transport/transport.js'
import type { SessionTimer } from './session-expires.js'

/** Methods that refresh the remote target (RFC 3261 12.2, RFC 3311, RFC 6665). */
const REFRESHES: ReadonlySet<string> = new Set(['INVITE', 'UPDATE', 'SUBSCRIBE', 'NOTIFY'])

/** An INVITE of ours inside a dialog, as far as the dialog has to know it. */
export interface LocalInvite {
  readonly cseq: number
  readonly phase: 'open' | 'answered' | 'failed'
  /** Whether it carries an offer, which nobody may cross with another (RFC 3264 4). */
  readonly hasOffer: boolean
  /** The ACK of its 2xx once it was sent, for repetition. */
  ack: { readonly bytes: Buffer; readonly flow: Flow } | null
  readonly cancelled: boolean
  /** Cancels it if it is still open. */
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
  /** The To value of our own requests, with tag if the peer has one. */
  readonly remote: string
  readonly localSeq: number
  readonly remoteSeq: number
  readonly routeSet: readonly string[]
  readonly remoteTarget: string
  readonly app: App
  /** Transaction id of the request that made the dialog, as its application knows it. */
  readonly transactionId: string
  /** Our last Contact. */
  readonly contact: string
}

/** The state of one dialog (RFC 3261 12). Sending and receiving are done by others. */
export class Dialog {
  readonly id: string
  readonly role: 'uac' | 'uas'
  readonly method: 'INVITE' | 'SUBSCRIBE'
  readonly callId: string
  readonly localTag: string
  readonly remoteTag: string
  readonly local: string
  remote: string
  /** Another one when an application that lost its connection comes back for it. */
  app: App
  readonly transactionId: string
  /** Learnt with the first response that makes the dialog; for a UAC again with the 2xx. */
  routeSet: readonly string[]
  localSeq: number
  /** Highest CSeq number of the peer's requests; 0 before the first. */
  remoteSeq: number
  remoteTarget: string
  contact: string
  /** Behind a NAT: where requests really have to go, whatever the target says. */
  natNextHop: Pin | null = null
  /** The connection of the last message, reused while open. */
  connection: Flow | null = null
  /** 2xx responses of ours that wait for their ACK, by CSeq number. */
  readonly okRetransmitters = new Map<number, OkRetransmitter>()
  /** Our last INVITE in this dialog, the initial one included. */
  localInvite: LocalInvite | null = null
  /** Transaction id of the peer's INVITE our application has not answered yet. */
  pendingRemoteInvite: string | null = null
  /** Transaction ids of all the peer's requests in it that our application has not answered. */
  readonly unansweredRequests = new Set<string>()
  /** Whether our application still owes the answer to an UPDATE of the peer. */
  pendingRemoteUpdate = false
  /** UPDATEs of ours with an offer that has no answer yet. */
  pendingLocalUpdates = 0
  /** Our reliable provisional responses to the INVITE being answered (RFC 3262). */
  reliableResponses: ReliableResponses | null = null
  /** RSeq of the peer's last reliable provisional response to our last INVITE. */
  lastRseq: number | null = null
  /** Those of the peer our application has not acknowledged: what RAck has to say. */
  readonly pendingPracks: { readonly rseq: number; readonly cseq: number }[] = []
  /** The last session description we sent that is in force: what a refresh repeats. */
  localSdp: Buffer | null = null
  sessionTimer: SessionTimer | null = null
  /** Ends a subscription nobody refreshes. */
  expiryTimer: Timer | null = null
  ended = false

  constructor(birth: DialogInit) {
    const initiator = birth.role === 'uac' ? birth.localTag : birth.remoteTag
    this.id = dialogId(birth.callId, initiator)
    this.role = birth.role
    this.method = birth.method
    this.callId = birth.callId
    this.localTag = birth.localTag
    this.remoteTag = birth.remoteTag
    this.local = birth.local
    this.remote = birth.remote
    this.localSeq = birth.localSeq
    this.remoteSeq = birth.remoteSeq
    this.routeSet = birth.routeSet
    this.remoteTarget = birth.remoteTarget
    this.app = birth.app
    this.transactionId = birth.transactionId
    this.contact = birth.contact
  }

  /** Remembers the way a message of the peer came, and its Contact if the method refreshes it. */
  refreshTarget(message: SipMessage, method: string, flow: Flow): void {
    if (flow.reliable) this.connection = flow
    if (!REFRESHES.has(method)) return
    const contact = contactUri(message)
    if (contact !== null) this.remoteTarget = contact
  }

  /** Nothing of it is repeated or timed any more. Twice does nothing. */
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

  /** Request-URI, Route headers and next hop URI of a request of ours (RFC 3261 12.2.1.1). */
  route(uri: string): { readonly uri: string; readonly routes: readonly Header[]; readonly nextHop: string } {
    const [first, ...rest] = this.routeSet
    if (first === undefined) return { uri, routes: [], nextHop: uri }
    const firstUri = parseAddress(first)?.uri ?? first
    const loose = paramOf(parseUri(firstUri)?.params ?? '', 'lr') !== null
    // A strict router wants to find itself in the Request-URI and the target at the end.
    const set = loose ? this.routeSet : [...rest, `<${uri}>`]
    return {
      uri: loose ? uri : firstUri,
      routes: set.map((value) => ({ name: 'Route', value })),
      nextHop: firstUri,
    }
  }
}

/** The format is part of the protocol: drachtio-srf builds the same text to find its dialogs. */
export function dialogId(callId: string, initiatorTag: string): string {
  return `${callId};from-tag=${initiatorTag}`
}

/** The first Contact's URI. */
export function contactUri(message: SipMessage): string | null {
  const value = headerOf(message, 'Contact')
  return value === null ? null : (parseAddress(splitList(value)[0] ?? '')?.uri ?? null)
}

/** A NOTIFY that ends the dialog its SUBSCRIBE made (RFC 6665 4.4.1). */
export function endsSubscription(notify: SipMessage): boolean {
  return /^\s*terminated\b/i.test(headerOf(notify, 'Subscription-State') ?? '')
}

/** All Record-Route elements in order of appearance. */
export function recordRoutes(message: SipMessage): readonly string[] {
  return headersOf(message, 'Record-Route').flatMap((line) => splitList(line))
}

/**
 * Whether the peer of a dialog has to be answered where its message came from, because its Contact
 * (or the private first route of a UAC dialog) cannot be its real address.
 */
export function isBehindNat(
  role: 'uac' | 'uas',
  routeSet: readonly string[],
  target: string,
  source: { readonly address: string; readonly port: number },
): boolean {
  if (routeSet.length > 0) {
    if (role === 'uas') return false
    const first = parseUri(parseAddress(routeSet[0] ?? '')?.uri ?? '')
    return first !== null && isPrivate(first.host) && first.host !== source.address
  }
  const contact = parseUri(target)
  if (contact === null) return false
  if (contact.host !== source.address) return true
  return role === 'uas' && contact.port !== null && contact.port !== source.port
}

/** The live dialogs, by the id the applications use and by what messages carry. */
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

  /** Any live dialog of that Call-ID. */
  findByCallId(callId: string): Dialog | null {
    for (const dialog of this.#byCallId.get(callId) ?? []) return dialog
    return null
  }

  /** The dialog a received request belongs to. */
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

  /** Ends the dialog. Twice does nothing. */
  remove(dialog: Dialog): void {
    if (dialog.ended) return
    dialog.end()
    if (this.#byId.get(dialog.id) === dialog) this.#byId.delete(dialog.id)
    const findByCallId = this.#byCallId.get(dialog.callId)
    findByCallId?.delete(dialog)
    if (findByCallId?.size === 0) this.#byCallId.delete(dialog.callId)
  }
}
