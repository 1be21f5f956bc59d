import type { App } from './control.js'
import type { Core } from './core.js'
import { type Dialog, dialogId } from './dialog.js'
import { newTag, newUuid } from './ids.js'
import { RETRY_AFTER_S } from './limits.js'
import { notifyRequest } from './notify.js'
import type { Incoming } from './pending.js'
import { finishIncoming, replyFinal, replyStateless, responseTo } from './respond.js'
import { type Essentials, screen } from './screen.js'
import { paramOf, splitList } from './sip-header.js'
import {
  type Header,
  headerOf,
  METHODS,
  NO_BODY,
  type SipRequest,
  type SipResponse,
  serialise,
} from './sip-message.js'
import { parseSip } from './sip-parser.js'
import { clientKey } from './transaction-client.js'
import { ServerTransaction, serverKey } from './transaction-server.js'
import type { Flow } from './transport.js'

/*
 * Everything that arrives from peers: parsing, matching to transactions and dialogs, the answers
 * the server gives by itself, and the way to an application.
 */

/** Methods an application may get outside a dialog. */
const NEW_METHODS: ReadonlySet<string> = new Set([
  'INVITE',
  'REGISTER',
  'MESSAGE',
  'OPTIONS',
  'INFO',
  'NOTIFY',
  'SUBSCRIBE',
  'PUBLISH',
])
/** Methods that in an early dialog are handled like new requests. */
const EARLY_AS_NEW: ReadonlySet<string> = new Set([
  'INFO',
  'NOTIFY',
  'OPTIONS',
  'MESSAGE',
  'PUBLISH',
  'SUBSCRIBE',
])
const RETRY_AFTER: readonly Header[] = [{ name: 'Retry-After', value: String(RETRY_AFTER_S) }]
const ALLOW: readonly Header[] = [{ name: 'Allow', value: [...METHODS].join(', ') }]

/** One message from the network. Never throws for anything a peer can send. */
export function receive(core: Core, bytes: Buffer, flow: Flow): void {
  const parsed = parseSip(bytes, core.limits)
  if (!parsed.ok) {
    if (parsed.request) answerBroken(core, parsed.request, flow, parsed.status, parsed.reason)
    return
  }
  const { message } = parsed
  const screened = screen(message)
  if (message.kind === 'response') {
    if (screened.ok) receiveResponse(core, message, screened.essentials, flow)
    return
  }
  if (!screened.ok) {
    answerBroken(core, message, flow, 400, screened.reason)
    return
  }
  const { essentials } = screened
  receiveRequest(core, stamped(message, essentials, flow), essentials, flow)
}

/** A stream that lost its framing: the answer before the connection closes. */
export function receiveBroken(
  core: Core,
  status: 400 | 413,
  reason: string,
  head: Buffer | null,
  flow: Flow,
): void {
  if (head === null) return
  const parsed = parseSip(head, core.limits)
  const request = parsed.ok ? parsed.message : parsed.request
  if (request?.kind === 'request') answerBroken(core, request, flow, status, reason)
}

/** Only something that names where it came from can be answered at all. */
function answerBroken(core: Core, request: SipRequest, flow: Flow, status: number, reason: string): void {
  if (headerOf(request, 'Via') === null) return
  replyStateless(core, request, flow, status, reason)
}

function receiveResponse(core: Core, response: SipResponse, essentials: Essentials, flow: Flow): void {
  const { via, cseqMethod } = essentials
  // Two Vias: meant for somebody behind us, and we are no proxy (RFC 3261 8.1.3.3).
  const vias = response.headers.filter((header) => header.name === 'Via')
  if (via.branch === null || vias.length > 1 || splitList(vias[0]?.value ?? '').length > 1) return
  core.clients.get(clientKey(via.branch, cseqMethod))?.receive(response, essentials, flow)
}

function receiveRequest(core: Core, request: SipRequest, essentials: Essentials, flow: Flow): void {
  const { method } = request
  if (method === 'ACK') {
    receiveAck(core, request, essentials, flow)
    return
  }
  const key = serverKey(request, essentials, method)
  const known = core.servers.get(key)
  if (known) {
    known.repeat()
    return
  }
  if (core.servers.size >= core.limits.transactions && !belongsToUs(core, request, essentials)) {
    replyStateless(core, request, flow, 503, '', RETRY_AFTER)
    return
  }
  const transaction = new ServerTransaction(method === 'INVITE', flow, core.clock, core.timers, {
    onUnacknowledged: () =>
      core.log.debug({ callId: essentials.callId }, 'failure response never acknowledged'),
    onEnd: () => core.servers.delete(key),
  })
  core.servers.set(key, transaction)
  const arrival: Arrival = { key, request, essentials, flow, transaction }
  if (method === 'CANCEL') receiveCancel(core, arrival)
  else if (essentials.toTag !== null) receiveInside(core, arrival, essentials.toTag)
  else receiveNew(core, arrival)
}

/** Whether a request concerns a call that is there already: those are served even when full. */
function belongsToUs(core: Core, request: SipRequest, essentials: Essentials): boolean {
  const { callId, fromTag, toTag } = essentials
  if (request.method === 'CANCEL') return core.invites.has(serverKey(request, essentials, 'INVITE'))
  return toTag !== null && core.dialogs.match(callId, fromTag, toTag) !== null
}

/** A new request with its transaction, not yet anybody's. */
interface Arrival {
  readonly key: string
  readonly request: SipRequest
  readonly essentials: Essentials
  readonly flow: Flow
  readonly transaction: ServerTransaction
}

function reject(core: Core, arrival: Arrival, status: number, extra: readonly Header[] = []): void {
  replyFinal(core, arrival.transaction, arrival.request, arrival.essentials, status, newTag(), extra)
}

function receiveNew(core: Core, arrival: Arrival): void {
  const { request, essentials, flow, transaction } = arrival
  const { method } = request
  if (!NEW_METHODS.has(method)) {
    if (!METHODS.has(method)) reject(core, arrival, 501, ALLOW)
    else reject(core, arrival, method === 'REFER' ? 405 : 481, method === 'REFER' ? ALLOW : [])
    return
  }
  if (method === 'INVITE') {
    const source = flow.remote.address
    if ((core.pendingBySource.get(source) ?? 0) >= core.limits.pendingPerSource) {
      reject(core, arrival, 503, RETRY_AFTER)
      return
    }
    transaction.respond(100, serialise(responseTo(request, 100, '', null)))
    const existing = core.dialogs.find(dialogId(essentials.callId, essentials.fromTag))
    if (existing) {
      // Our own call came back to us, or a second INVITE for a call that is up.
      reject(core, arrival, existing.role === 'uac' ? 482 : 491)
      return
    }
  }
  const app = core.nextApp(method)
  if (app === null) {
    reject(core, arrival, 503)
    return
  }
  hand(core, arrival, app, null)
}

/** Passes a request to an application and starts its time. */
function hand(core: Core, arrival: Arrival, app: App, dialog: Dialog | null): void {
  const { key, request, essentials, flow, transaction } = arrival
  const invite = request.method === 'INVITE'
  const incoming: Incoming = {
    id: newUuid(),
    request,
    essentials,
    flow,
    key,
    transaction,
    app,
    dialog,
    localTag: null,
    deadline: null,
  }
  core.incoming.set(incoming.id, incoming)
  if (invite) {
    core.invites.set(key, incoming)
    if (dialog) dialog.remoteInvite = incoming.id
    else
      core.pendingBySource.set(flow.remote.address, (core.pendingBySource.get(flow.remote.address) ?? 0) + 1)
  }
  const ms = invite ? core.timers.inviteAnswer : core.timers.requestAnswer
  incoming.deadline = core.clock.after(ms, () => finishIncoming(core, incoming, 500))
  const receivedOn = dialog === null ? flow.transport.advertised(flow.remote.address) : null
  notifyRequest(core, app, request, flow, incoming.id, dialog?.id ?? '', receivedOn)
}

function receiveInside(core: Core, arrival: Arrival, toTag: string): void {
  const { request, essentials, flow, transaction } = arrival
  const { method } = request
  const dialog = core.dialogs.match(essentials.callId, essentials.fromTag, toTag)
  if (dialog === null) {
    receiveEarly(core, arrival, toTag)
    return
  }
  if (essentials.cseq < dialog.remoteSeq) {
    // RFC 3261 12.2.2: an older request than the last one.
    reject(core, arrival, 500)
    return
  }
  dialog.remoteSeq = essentials.cseq
  if (method === 'INVITE') {
    if (dialog.localInvite?.phase === 'open') {
      reject(core, arrival, 491)
      return
    }
    if (dialog.remoteInvite !== null) {
      reject(core, arrival, 500, [{ name: 'Retry-After', value: String(Math.floor(Math.random() * 11)) }])
      return
    }
    transaction.respond(100, serialise(responseTo(request, 100, '', null)))
  }
  if (!METHODS.has(method)) {
    reject(core, arrival, 501, ALLOW)
    return
  }
  if (flow.reliable) dialog.connection = flow
  const { app } = dialog
  if (method === 'BYE') {
    core.dialogs.remove(dialog)
    for (const pending of [...core.incoming.values()]) {
      if (pending.dialog === dialog) finishIncoming(core, pending, 487)
    }
  }
  if (!app.alive) {
    reject(core, arrival, 481)
    return
  }
  hand(core, arrival, app, dialog)
}

/** A To tag without a dialog: of an INVITE still being answered, or of nothing. */
function receiveEarly(core: Core, arrival: Arrival, toTag: string): void {
  const { request, essentials } = arrival
  const { callId, fromTag } = essentials
  const invite = core.early.get(`${callId};from-tag=${fromTag};to-tag=${toTag}`)
  if (invite === undefined || invite.essentials.toTag !== null) {
    reject(core, arrival, METHODS.has(request.method) ? 481 : 501)
    return
  }
  if (request.method === 'BYE') {
    reject(core, arrival, 200)
    cancelInvite(core, invite, cancelOf(invite))
  } else if (EARLY_AS_NEW.has(request.method)) {
    receiveNew(core, arrival)
  } else if (request.method === 'INVITE' || request.method === 'UPDATE') {
    reject(core, arrival, 500, RETRY_AFTER)
  } else {
    reject(core, arrival, 481)
  }
}

function receiveCancel(core: Core, arrival: Arrival): void {
  const { request, essentials } = arrival
  const key = serverKey(request, essentials, 'INVITE')
  const invite = core.invites.get(key)
  if (invite) {
    replyFinal(core, arrival.transaction, request, essentials, 200, invite.localTag)
    cancelInvite(core, invite, request)
    return
  }
  // RFC 3261 9.2: after a final response a CANCEL has no effect, but it matches and gets its 200.
  reject(core, arrival, core.servers.has(key) ? 200 : 481)
}

/** Ends an unanswered INVITE and tells its application in the only form it knows, a CANCEL. */
function cancelInvite(core: Core, invite: Incoming, cancel: SipRequest): void {
  const { app, essentials, flow, id, localTag, dialog } = invite
  const early = localTag === null ? '' : dialogId(essentials.callId, essentials.fromTag)
  finishIncoming(core, invite, 487)
  notifyRequest(core, app, cancel, flow, id, dialog?.id ?? early, null)
}

function cancelOf(invite: Incoming): SipRequest {
  const kept = new Set(['Via', 'From', 'To', 'Call-ID', 'Max-Forwards'])
  const headers = invite.request.headers.filter((header) => kept.has(header.name))
  headers.push({ name: 'CSeq', value: `${invite.essentials.cseq} CANCEL` })
  return { kind: 'request', method: 'CANCEL', uri: invite.request.uri, headers, body: NO_BODY }
}

function receiveAck(core: Core, request: SipRequest, essentials: Essentials, flow: Flow): void {
  const transaction = core.servers.get(serverKey(request, essentials, 'INVITE'))
  if (transaction && !transaction.accepted) {
    transaction.acknowledge()
    return
  }
  if (essentials.toTag === null) return
  const dialog = core.dialogs.match(essentials.callId, essentials.fromTag, essentials.toTag)
  const answer = dialog?.answers.get(essentials.cseq)
  // Without an answer waiting it is the repetition of an ACK we have had.
  if (!dialog || !answer) return
  answer.stop()
  dialog.answers.delete(essentials.cseq)
  if (flow.reliable) dialog.connection = flow
  notifyRequest(core, dialog.app, request, flow, dialog.transactionId, dialog.id, null)
}

/** The request with the sender's real address in its top Via (RFC 3261 18.2.1, RFC 3581). */
function stamped(request: SipRequest, essentials: Essentials, flow: Flow): SipRequest {
  const { via } = essentials
  const { address, port } = flow.remote
  const wantsPort = flow.protocol === 'udp' || paramOf(via.params, 'rport') !== null
  const addReceived = via.host !== address
  if (!wantsPort && !addReceived) return request
  const at = request.headers.findIndex((header) => header.name === 'Via')
  const line = request.headers[at]
  if (line === undefined) return request
  const [first = '', ...rest] = splitList(line.value)
  let top = first
  if (wantsPort) top = `${top.replace(/;\s*rport(?:\s*=\s*\d*)?(?=[;,\s]|$)/i, '')};rport=${port}`
  if (addReceived) top = `${top.replace(/;\s*received\s*=\s*[^;,\s]*/i, '')};received=${address}`
  const headers = [...request.headers]
  headers[at] = { name: 'Via', value: [top, ...rest].join(', ') }
  return { ...request, headers }
}
