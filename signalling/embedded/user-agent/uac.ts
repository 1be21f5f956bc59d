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
import { paramOf, parseAddress, parseCSeq } from '../message/sip-header.js'
import {
  type Header,
  headerOf,
  type SipRequest,
  type SipResponse,
  serialise,
} from '../message/sip-message.js'
import type { Hop } from '../routing/destination.js'
import { parseTarget } from '../routing/target.js'
import type { Flow, Transport } from '../transport/transport.js'
import { OutgoingRequest } from './outgoing-request.js'
import { contactOf, isOwnUri, isSips, substituteLocalhost } from './own-headers.js'
import { receiveInDialog } from './received-request.js'

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
  const hop = hopFor(core, command, message)
  if (hop === null) {
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
    destination: hop,
    hasOffer: message.body.length > 0,
    dialogId: id,
    cseq: identity.cseq,
    compose: ({ transport, peer }) => compose(message, identity, transport, peer),
    onSent: (bytes, flow) => {
      if (message.method === 'INVITE') cdrAttempt(core, 'application', bytes)
      confirmRequestSent(core, app, messageId, bytes, flow, outgoing.id)
    },
    onRefused: (why) => {
      rejectHeldNotifies(core, id)
      rejectCommand(app, messageId, why)
    },
    onResponse: (response, essentials, flow) => {
      if (dialogForming && response.status < 200) {
        if (!progress(core, app, outgoing, message.method, response, essentials, flow)) return
      } else if (dialogForming && response.status < 300) {
        if (!established(core, app, outgoing, message, response, essentials, flow)) return
      }
      if (dialogForming && response.status >= 300) failed(core, outgoing, message.method, response)
      if (message.method === 'REGISTER' && response.status < 300 && response.status >= 200 && core.nat) {
        core.keepAlives.onRegistered(outgoing.request ?? message, response, flow)
      }
      notifyResponse(core, app, serialise(response), flow, outgoing.id, id)
      orphaned(core, app, outgoing, message.method, response)
      if (message.method === 'SUBSCRIBE') answerNotifies(core, id, response.status)
    },
    onFailure: (response, protocol) => {
      failed(core, outgoing, message.method, response)
      notifyFailure(core, app, serialise(response), protocol, outgoing.id, id)
      rejectHeldNotifies(core, id)
    },
  })
  if (message.method === 'SUBSCRIBE' && !core.heldNotifies.has(id)) core.heldNotifies.set(id, [])
  outgoing.start()
}

/** A registered client's connection, else the route or the Request-URI. Null: no such transport. */
function hopFor(core: Core, command: Command, message: SipRequest): Hop | null {
  const flow = command.routeUrl === '' ? core.registeredFlows.find(message.method, message.uri) : null
  if (flow) return { by: 'registered', flow }
  const target = parseTarget(command.routeUrl === '' ? message.uri : command.routeUrl)
  return target === null ? null : { by: 'target', target }
}

/** NOTIFYs that came before the answer to their SUBSCRIBE find their dialog now, or never. */
function answerNotifies(core: Core, id: string, status: number): void {
  if (status < 200) return
  for (const arrival of takeHeldNotifies(core, id))
    receiveInDialog(core, arrival, arrival.essentials.toTag ?? '')
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
    headers.push({ name: 'Contact', value: contactOf(transport, peer, isSips(message.uri)) })
  }
  for (const header of own) if (!PLACED.has(header.name)) headers.push(header)
  return { kind: 'request', method: message.method, uri: message.uri, headers, body: message.body }
}

/**
 * A provisional response above 100 to our INVITE: with a tag it makes an early dialog, one a fork.
 * False when it must not reach the application: repeated or out of order though reliable.
 */
function progress(
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

function failed(core: Core, outgoing: OutgoingRequest, method: string, response: SipResponse): void {
  endForks(core, outgoing)
  if (method !== 'INVITE') return
  cdrStop(core, 'network', outgoing.cancelled ? 'call-canceled' : 'call-rejected', response)
}

/** The early dialogs of an INVITE that failed, or that another fork won. */
function endForks(core: Core, outgoing: OutgoingRequest): void {
  for (const fork of outgoing.forks.values()) {
    core.earlyDialogs.remove(fork)
    fork.end()
  }
  outgoing.forks.clear()
}

/**
 * A 2xx to our INVITE or SUBSCRIBE. The first makes the dialog and is passed on; repetitions get
 * the same ACK again; another fork's is acknowledged and ended at once (RFC 3261 13.2.2.4).
 */
function established(
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
  // Without a Contact there is nowhere to send requests to.
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

/** The application has gone meanwhile: an answered call is ended for it. */
function orphaned(
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
