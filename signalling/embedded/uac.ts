import type { App, Command } from './control.js'
import type { Core } from './core.js'
import { behindNat, contactUri, Dialog, dialogId, recordRoutes } from './dialog.js'
import { newCallId, newTag, newUuid } from './ids.js'
import { acknowledgeAlone, sendInside } from './inside.js'
import { isWildcard } from './local-address.js'
import { targetOf } from './next-hop.js'
import { confirmRequest, notifyFailure, notifyResponse, refuse } from './notify.js'
import { Outgoing } from './outgoing.js'
import { contactOf, substituteLocalhost } from './own-address.js'
import type { Essentials } from './screen.js'
import { paramOf, parseAddress, parseCSeq, parseUri } from './sip-header.js'
import { type Header, headerOf, type SipRequest, type SipResponse, serialise } from './sip-message.js'
import type { Flow, Transport } from './transport.js'

/*
 * Requests of applications outside a dialog, and what comes back: provisionals, the dialog a 2xx
 * makes, forks, failures.
 */

/** Headers the server places itself, first, in this order. */
const PLACED: ReadonlySet<string> = new Set(['Max-Forwards', 'From', 'To', 'Call-ID', 'CSeq', 'Contact'])

/** More answers to one INVITE than any sane forking proxy sends. */
const MAX_FORKS = 32

/** A `sip` command with a request: outside a dialog, inside one, or the CANCEL of one. */
export function sendRequest(core: Core, app: App, command: Command, message: SipRequest): void {
  const { transactionId } = command
  if (command.dialogId !== '') {
    sendInside(core, app, command, command.dialogId, message)
    return
  }
  if (message.method === 'CANCEL') {
    cancel(core, app, command, message)
    return
  }
  if (transactionId !== '') {
    refuse(app, command.messageId, 'a request needs no transaction id, except CANCEL')
    return
  }
  const callId = headerOf(message, 'Call-ID')
  const live = callId === null ? null : core.dialogs.ofCall(callId)
  if (live && live.app === app) {
    sendInside(core, app, command, live.id, message)
    return
  }
  if (message.method === 'ACK' || message.method === 'PRACK') {
    refuse(app, command.messageId, `Server error: ${message.method} outside a dialog`)
    return
  }
  sendOutside(core, app, command, message, callId ?? newCallId())
}

function cancel(core: Core, app: App, command: Command, message: SipRequest): void {
  const outgoing = core.outgoing.get(command.transactionId)
  const sent = outgoing?.app === app ? outgoing.cancel(message.headers) : null
  if (sent === null) {
    refuse(app, command.messageId, `unable to cancel unknown transaction id: ${command.transactionId}`)
    return
  }
  confirmRequest(core, app, command.messageId, sent.bytes, sent.flow, newUuid())
}

function sendOutside(core: Core, app: App, command: Command, message: SipRequest, callId: string): void {
  const { messageId } = command
  const next = targetOf(command.routeUrl === '' ? message.uri : command.routeUrl)
  if (next === null) {
    refuse(app, messageId, 'requested protocol/transport not available')
    return
  }
  if (isMyself(core, message.uri)) {
    refuse(app, messageId, 'can not send request to myself')
    return
  }
  const identity = identityOf(message, callId)
  const dialogForming = message.method === 'INVITE' || message.method === 'SUBSCRIBE'
  const id = dialogForming ? dialogId(callId, identity.fromTag) : ''
  const outgoing: Outgoing = new Outgoing(core, {
    app,
    hop: { by: 'target', target: next },
    dialogId: id,
    cseq: identity.cseq,
    compose: ({ transport, peer }) => compose(message, identity, transport, peer),
    onSent: (bytes, flow) => confirmRequest(core, app, messageId, bytes, flow, outgoing.id),
    onRefused: (why) => refuse(app, messageId, why),
    onResponse: (response, essentials, flow) => {
      if (dialogForming && response.status >= 200 && response.status < 300) {
        if (!established(core, app, outgoing, message.method, response, essentials, flow)) return
      }
      notifyResponse(core, app, serialise(response), flow, outgoing.id, id)
      orphaned(core, app, outgoing, message.method, response)
    },
    onFailure: (response, protocol) =>
      notifyFailure(core, app, serialise(response), protocol, outgoing.id, id),
  })
  outgoing.start()
}

/** What identifies the request whatever the attempt: RFC 3261 8.1.1. */
interface Identity {
  readonly callId: string
  readonly cseq: number
  readonly fromTag: string
}

function identityOf(message: SipRequest, callId: string): Identity {
  const from = headerOf(message, 'From')
  const given = from === null ? null : paramOf(parseAddress(from)?.params ?? '', 'tag')
  const cseq = headerOf(message, 'CSeq')
  const number = cseq === null ? null : (parseCSeq(cseq)?.number ?? null)
  // Any start below 2^31 will do (8.1.1.5).
  return {
    callId,
    fromTag: given || newTag(),
    cseq: number ?? (Math.floor(Math.random() * 0x3fffffff) || 1),
  }
}

function compose(message: SipRequest, identity: Identity, transport: Transport, peer: string): SipRequest {
  const own = substituteLocalhost(message.headers, transport.advertised(peer), transport.protocol)
  const given = (name: string) => own.find((header) => header.name === name)?.value ?? null
  const from = given('From') ?? contactOf(transport, peer).replace(/;transport=[a-z]+/, '')
  const tagged = paramOf(parseAddress(from)?.params ?? '', 'tag') ? from : `${from};tag=${identity.fromTag}`
  const headers: Header[] = [
    { name: 'Max-Forwards', value: given('Max-Forwards') ?? '70' },
    { name: 'From', value: tagged },
    { name: 'To', value: given('To') ?? `<${message.uri}>` },
    { name: 'Call-ID', value: identity.callId },
    { name: 'CSeq', value: `${identity.cseq} ${message.method}` },
  ]
  const contacts = own.filter((header) => header.name === 'Contact')
  headers.push(...contacts)
  if (contacts.length === 0 && (message.method === 'INVITE' || message.method === 'SUBSCRIBE')) {
    headers.push({ name: 'Contact', value: contactOf(transport, peer) })
  }
  for (const header of own) if (!PLACED.has(header.name)) headers.push(header)
  return { kind: 'request', method: message.method, uri: message.uri, headers, body: message.body }
}

/**
 * A 2xx to our INVITE or SUBSCRIBE. The first makes the dialog and is passed on; repetitions get
 * the same ACK again; another fork's is acknowledged and ended at once (RFC 3261 13.2.2.4).
 */
function established(
  core: Core,
  app: App,
  outgoing: Outgoing,
  method: string,
  response: SipResponse,
  essentials: Essentials,
  flow: Flow,
): boolean {
  const tag = essentials.toTag ?? ''
  if (outgoing.winner !== null) {
    const ack = outgoing.winner === tag ? outgoing.ack : outgoing.forkAcks.get(tag)
    if (ack) ack.flow.send(ack.bytes)
    else if (outgoing.winner !== tag && method === 'INVITE' && outgoing.forkAcks.size < MAX_FORKS) {
      const fork = makeDialog(core, app, outgoing, 'INVITE', response, essentials, flow)
      if (fork) acknowledgeAlone(core, fork, outgoing.cseq, (sent) => outgoing.forkAcks.set(tag, sent))
    }
    return false
  }
  outgoing.winner = tag
  const kind = method === 'SUBSCRIBE' ? 'SUBSCRIBE' : 'INVITE'
  const dialog = makeDialog(core, app, outgoing, kind, response, essentials, flow)
  if (dialog) {
    if (kind === 'INVITE') dialog.localInvite = outgoing
    core.dialogs.add(dialog)
  }
  return true
}

/** RFC 3261 12.1.2. Null without a Contact: there is nowhere to send requests to. */
function makeDialog(
  core: Core,
  app: App,
  outgoing: Outgoing,
  method: 'INVITE' | 'SUBSCRIBE',
  response: SipResponse,
  essentials: Essentials,
  flow: Flow,
): Dialog | null {
  const target = contactUri(response)
  const request = outgoing.request
  if (target === null || request === null) return null
  const routeSet = [...recordRoutes(response)].reverse()
  const dialog = new Dialog({
    role: 'uac',
    method,
    callId: essentials.callId,
    localTag: essentials.fromTag,
    remoteTag: essentials.toTag ?? '',
    local: headerOf(request, 'From') ?? '',
    remote: headerOf(response, 'To') ?? '',
    localSeq: outgoing.cseq,
    remoteSeq: 0,
    routeSet,
    remoteTarget: target,
    app,
    transactionId: outgoing.id,
    contact: headerOf(request, 'Contact') ?? '',
  })
  if (flow.reliable) dialog.connection = flow
  else if (core.nat && behindNat('uac', routeSet, target, flow.remote)) {
    dialog.pinned = { transport: flow.transport, remote: flow.remote }
  }
  return dialog
}

/** The application has gone meanwhile: an answered call is ended for it. */
function orphaned(core: Core, app: App, outgoing: Outgoing, method: string, response: SipResponse): void {
  if (app.alive || method !== 'INVITE' || response.status < 200 || response.status >= 300) return
  const dialog = core.dialogs.find(outgoing.dialogId)
  if (!dialog) return
  acknowledgeAlone(core, dialog, outgoing.cseq, (ack) => {
    outgoing.ack = ack
  })
}

function isMyself(core: Core, uri: string): boolean {
  const parsed = parseUri(uri)
  if (parsed === null) return false
  const port = parsed.port ?? 5060
  const host = parsed.host.toLowerCase()
  return core.transports.some((transport) => {
    const { bound } = transport
    if (bound.port !== port) return false
    const shown = transport.advertised(host).address
    if (host === bound.address || host === shown) return true
    if (host === 'localhost') return bound.address === '127.0.0.1' || isWildcard(bound.address)
    return isWildcard(bound.address) && core.ownAddresses.has(host)
  })
}
