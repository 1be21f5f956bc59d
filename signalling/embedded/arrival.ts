import type { App } from './control.js'
import type { Core } from './core.js'
import { type Dialog, dialogId } from './dialog.js'
import { newTag, newUuid } from './ids.js'
import { RETRY_AFTER_S } from './limits.js'
import { notifyRequest } from './notify.js'
import type { Incoming } from './pending.js'
import { finishIncoming, replyFinal, responseTo } from './respond.js'
import type { Essentials } from './screen.js'
import { type Header, METHODS, NO_BODY, type SipRequest, serialise } from './sip-message.js'
import { type ServerTransaction, serverKey } from './transaction-server.js'
import type { Flow } from './transport.js'

/*
 * What becomes of a peer's request that no transaction knew: an answer of the server's own, or the
 * way to an application.
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

/** A new request with its transaction, not yet anybody's. */
export interface Arrival {
  readonly key: string
  readonly request: SipRequest
  readonly essentials: Essentials
  readonly flow: Flow
  readonly transaction: ServerTransaction
}

function reject(core: Core, arrival: Arrival, status: number, extra: readonly Header[] = []): void {
  replyFinal(core, arrival.transaction, arrival.request, arrival.essentials, status, newTag(), extra)
}

export function receiveNew(core: Core, arrival: Arrival): void {
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

export function receiveInside(core: Core, arrival: Arrival, toTag: string): void {
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

export function receiveCancel(core: Core, arrival: Arrival): void {
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
