import { confirmRequestSent, notifyFailure, notifyResponse, rejectCommand } from '../app/app-notifications.js'
import { cdrAttempt, cdrStart, cdrStop } from '../app/cdr.js'
import type { App, Command } from '../app/control-port.js'
import type { Core } from '../core.js'
import { contactUri, dialogId } from '../dialog/dialog.js'
import { createUacDialog, updateRouteSet } from '../dialog/dialog-creation.js'
import { ackAndHangUp, sendInDialog } from '../dialog/in-dialog-request.js'
import { acceptProvisional } from '../dialog/prack.js'
import { applySessionExpires } from '../dialog/session-timer.js'
import { rejectHeldNotifies, startSubscriptionTimer, takeHeldNotifies } from '../dialog/subscription.js'
import { newCallId, newTag, newUuid } from '../ids.js'
import type { Essentials } from '../message/message-validation.js'
import { parseAddress } from '../message/name-addr.js'
import { paramOf, parseCSeq } from '../message/sip-header.js'
import {
  type Header,
  headerOf,
  type SipRequest,
  type SipResponse,
  serialise,
} from '../message/sip-message.js'
import type { Destination } from '../routing/destination.js'
import { parseTarget } from '../routing/target.js'
import type { Flow, Transport } from '../transport/transport.js'
import { OutgoingRequest } from './outgoing-request.js'
import { contactOf, isOwnUri, isSips, substituteLocalhost } from './own-headers.js'
import { receiveInDialog } from './received-request.js'

/*
 * Requests of applications outside a dialog, and the responses to them: provisional responses, dialogs,
 * forks, failures.
 */

/** Headers that the server writes itself, first and in this order. */
const LEADING_HEADERS: ReadonlySet<string> = new Set([
  'Max-Forwards',
  'From',
  'To',
  'Call-ID',
  'CSeq',
  'Contact',
])

/** Maximum number of forks of one INVITE. */
const MAX_FORKS = 32

/** Handles a `sip` command with a request: outside a dialog, inside one, or a CANCEL. */
export function sendRequest(core: Core, app: App, command: Command, message: SipRequest): void {
  const { transactionId } = command
  if (command.dialogId !== '') {
    sendInDialog(core, app, command, command.dialogId, message)
    return
  }
  if (message.method === 'CANCEL') {
    cancel(core, app, command, message)
    return
  }
  if (transactionId !== '') {
    rejectCommand(app, command.messageId, 'a request needs no transaction id, except CANCEL')
    return
  }
  const callId = headerOf(message, 'Call-ID')
  const live = callId === null ? null : core.dialogs.findByCallId(callId)
  if (live && live.app === app) {
    sendInDialog(core, app, command, live.id, message)
    return
  }
  if (message.method === 'ACK' || message.method === 'PRACK') {
    rejectCommand(app, command.messageId, `Server error: ${message.method} outside a dialog`)
    return
  }
  sendOutside(core, app, command, message, callId ?? newCallId())
}

function cancel(core: Core, app: App, command: Command, message: SipRequest): void {
  const outgoing = core.outgoing.get(command.transactionId)
  const sent = outgoing?.app === app ? outgoing.cancel(message.headers) : null
  if (sent === null) {
    rejectCommand(app, command.messageId, `unable to cancel unknown transaction id: ${command.transactionId}`)
    return
  }
  confirmRequestSent(core, app, command.messageId, sent.bytes, sent.flow, newUuid())
}

function sendOutside(core: Core, app: App, command: Command, message: SipRequest, callId: string): void {
  const { messageId } = command
  const destination = destinationOf(core, command, message)
  if (destination === null) {
    rejectCommand(app, messageId, 'requested protocol/transport not available')
    return
  }
  if (isOwnUri(core, message.uri)) {
    rejectCommand(app, messageId, 'can not send request to myself')
    return
  }
  const identity = identityOf(message, callId)
  const dialogForming = message.method === 'INVITE' || message.method === 'SUBSCRIBE'
  const id = dialogForming ? dialogId(callId, identity.fromTag) : ''
  const outgoing: OutgoingRequest = new OutgoingRequest(core, {
    app,
    destination,
    hasOffer: message.body.length > 0,
    dialogId: id,
    cseq: identity.cseq,
    compose: ({ transport, peer }) => compose(message, identity, transport, peer),
    onSent: (bytes, flow) => {
      if (message.method === 'INVITE') cdrAttempt(core, 'application', bytes)
      confirmRequestSent(core, app, messageId, bytes, flow, outgoing.id)
    },
    onRefused: (reason) => {
      rejectHeldNotifies(core, id)
      rejectCommand(app, messageId, reason)
    },
    onResponse: (response, essentials, flow) => {
      if (dialogForming && response.status < 200) {
        if (!onProvisional(core, app, outgoing, message.method, response, essentials, flow)) return
      } else if (dialogForming && response.status < 300) {
        if (!onSuccess(core, app, outgoing, message, response, essentials, flow)) return
      }
      if (dialogForming && response.status >= 300) onFailed(core, outgoing, message.method, response)
      if (message.method === 'REGISTER' && response.status < 300 && response.status >= 200 && core.nat) {
        core.keepAlives.onRegistered(outgoing.request ?? message, response, flow)
      }
      notifyResponse(core, app, serialise(response), flow, outgoing.id, id)
      endIfAppDisconnected(core, app, outgoing, message.method, response)
      if (message.method === 'SUBSCRIBE') deliverHeldNotifies(core, id, response.status)
    },
    onFailure: (response, protocol) => {
      onFailed(core, outgoing, message.method, response)
      notifyFailure(core, app, serialise(response), protocol, outgoing.id, id)
      rejectHeldNotifies(core, id)
    },
  })
  if (message.method === 'SUBSCRIBE' && !core.heldNotifies.has(id)) core.heldNotifies.set(id, [])
  outgoing.start()
}

/**
 * Returns the destination: the flow of a registered client, else the route or the Request-URI. Returns null
 * for an unsupported transport.
 */
function destinationOf(core: Core, command: Command, message: SipRequest): Destination | null {
  const flow = command.routeUrl === '' ? core.registeredFlows.find(message.method, message.uri) : null
  if (flow) return { kind: 'flow', flow }
  const target = parseTarget(command.routeUrl === '' ? message.uri : command.routeUrl)
  return target === null ? null : { kind: 'target', target, peer: null }
}

/** Delivers the NOTIFYs that arrived before the response to their SUBSCRIBE, or rejects them. */
function deliverHeldNotifies(core: Core, id: string, status: number): void {
  if (status < 200) return
  for (const received of takeHeldNotifies(core, id))
    receiveInDialog(core, received, received.essentials.toTag ?? '')
}

/** The values that identify the request on every attempt (RFC 3261 8.1.1). */
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
  // Any initial value below 2^31 is allowed (8.1.1.5).
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
    headers.push({ name: 'Contact', value: contactOf(transport, peer, isSips(message.uri)) })
  }
  for (const header of own) if (!LEADING_HEADERS.has(header.name)) headers.push(header)
  return { kind: 'request', method: message.method, uri: message.uri, headers, body: message.body }
}

/**
 * Handles a provisional response above 100 to our INVITE; a tagged one creates an early dialog per fork.
 * Returns false for a reliable response that is repeated or out of order and must not reach the application.
 */
function onProvisional(
  core: Core,
  app: App,
  outgoing: OutgoingRequest,
  method: string,
  response: SipResponse,
  essentials: Essentials,
  flow: Flow,
): boolean {
  const tag = essentials.toTag
  const { request } = outgoing
  if (tag === null || request === null || method !== 'INVITE') return true
  let fork = outgoing.forks.get(tag)
  if (fork === undefined) {
    if (outgoing.forks.size >= MAX_FORKS) return true
    fork = createUacDialog(core, app, outgoing, 'INVITE', response, essentials, flow) ?? undefined
    if (fork === undefined) return true
    outgoing.forks.set(tag, fork)
    core.earlyDialogs.add({ dialog: fork, incoming: null })
  } else if (contactUri(response) !== null) {
    updateRouteSet(core, fork, request, response, flow)
  }
  return acceptProvisional(fork, response, outgoing.cseq)
}

function onFailed(core: Core, outgoing: OutgoingRequest, method: string, response: SipResponse): void {
  endForks(core, outgoing)
  if (method !== 'INVITE') return
  cdrStop(core, 'network', outgoing.cancelled ? 'call-canceled' : 'call-rejected', response)
}

/** Ends the early dialogs of an INVITE that failed, or that another fork won. */
function endForks(core: Core, outgoing: OutgoingRequest): void {
  for (const fork of outgoing.forks.values()) {
    core.earlyDialogs.remove(fork)
    fork.end()
  }
  outgoing.forks.clear()
}

/**
 * Handles a 2xx to our INVITE or SUBSCRIBE. The first one creates the dialog and is passed on; a
 * retransmission gets the same ACK again; the 2xx of another fork gets ACK and BYE (RFC 3261 13.2.2.4).
 */
function onSuccess(
  core: Core,
  app: App,
  outgoing: OutgoingRequest,
  message: SipRequest,
  response: SipResponse,
  essentials: Essentials,
  flow: Flow,
): boolean {
  const tag = essentials.toTag ?? ''
  const { request } = outgoing
  if (outgoing.winningTag !== null) {
    const ack = outgoing.winningTag === tag ? outgoing.ack : outgoing.forkAcks.get(tag)
    if (ack) ack.flow.send(ack.bytes)
    else if (
      outgoing.winningTag !== tag &&
      message.method === 'INVITE' &&
      outgoing.forkAcks.size < MAX_FORKS
    ) {
      if (contactUri(response) === null) return false
      const fork = createUacDialog(core, app, outgoing, 'INVITE', response, essentials, flow)
      if (fork) ackAndHangUp(core, fork, outgoing.cseq, (sent) => outgoing.forkAcks.set(tag, sent))
    }
    return false
  }
  outgoing.winningTag = tag
  const kind = message.method === 'SUBSCRIBE' ? 'SUBSCRIBE' : 'INVITE'
  const fork = outgoing.forks.get(tag)
  if (fork) {
    outgoing.forks.delete(tag)
    core.earlyDialogs.remove(fork)
  }
  endForks(core, outgoing)
  // Without a Contact the dialog has no target for requests.
  if (request === null || contactUri(response) === null) {
    fork?.end()
    return true
  }
  const dialog = fork ?? createUacDialog(core, app, outgoing, kind, response, essentials, flow)
  if (dialog === null) return true
  if (fork) {
    updateRouteSet(core, fork, request, response, flow)
    fork.remote = headerOf(response, 'To') ?? fork.remote
  }
  core.dialogs.add(dialog)
  if (kind === 'SUBSCRIBE') {
    startSubscriptionTimer(core, dialog, request, response)
    return true
  }
  dialog.localInvite = outgoing
  if (message.body.length > 0) dialog.localSdp ??= message.body
  applySessionExpires(core, dialog, response, 'uac')
  cdrStart(core, 'network', 'uac', response)
  return true
}

/** Ends an answered call whose application has disconnected. */
function endIfAppDisconnected(
  core: Core,
  app: App,
  outgoing: OutgoingRequest,
  method: string,
  response: SipResponse,
): void {
  if (app.connected || method !== 'INVITE' || response.status < 200 || response.status >= 300) return
  const dialog = core.dialogs.find(outgoing.dialogId)
  if (!dialog) return
  ackAndHangUp(core, dialog, outgoing.cseq, (ack) => {
    outgoing.ack = ack
  })
}
