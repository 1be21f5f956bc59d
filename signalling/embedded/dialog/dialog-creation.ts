import type { App } from '../app/control-port.js'
import type { Core } from '../core.js'
import type { Essentials } from '../message/message-validation.js'
import { headerOf, type SipRequest, type SipResponse } from '../message/sip-message.js'
import { nextHopAt } from '../routing/next-hop.js'
import type { Flow } from '../transport/transport.js'
import type { OutgoingRequest } from '../user-agent/outgoing-request.js'
import type { IncomingRequest } from '../user-agent/pending-requests.js'
import { contactUri, Dialog, isBehindNat, recordRoutes } from './dialog.js'

/* Creates dialogs (RFC 3261 12.1) for both roles, without adding them to a table. */

/** Creates the dialog of our first tagged response to a request of a peer (RFC 3261 12.1.1). */
export function createUasDialog(core: Core, incoming: IncomingRequest, response: SipResponse): Dialog {
  const { request, essentials, flow } = incoming
  const routeSet = recordRoutes(request)
  const target = contactUri(request) ?? ''
  const dialog = new Dialog({
    role: 'uas',
    method: request.method === 'SUBSCRIBE' ? 'SUBSCRIBE' : 'INVITE',
    callId: essentials.callId,
    localTag: incoming.localTag ?? '',
    remoteTag: essentials.fromTag,
    local: headerOf(response, 'To') ?? '',
    remote: headerOf(request, 'From') ?? '',
    localSeq: essentials.cseq,
    remoteSeq: essentials.cseq,
    routeSet,
    remoteTarget: target,
    peer: flow.remote.address,
    app: incoming.app,
    transactionId: incoming.id,
    contact: headerOf(response, 'Contact') ?? '',
  })
  if (flow.reliable) dialog.connection = flow
  else if (core.nat && isBehindNat('uas', routeSet, target, flow.remote)) {
    dialog.natNextHop = nextHopAt(flow.transport, flow.remote)
  }
  return dialog
}

/** Creates the dialog of a response to our request (RFC 3261 12.1.2). Returns null when nothing was sent. */
export function createUacDialog(
  core: Core,
  app: App,
  outgoing: OutgoingRequest,
  method: 'INVITE' | 'SUBSCRIBE',
  response: SipResponse,
  essentials: Essentials,
  flow: Flow,
): Dialog | null {
  const { request } = outgoing
  if (request === null) return null
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
    routeSet: [],
    remoteTarget: request.uri,
    peer: flow.remote.address,
    app,
    transactionId: outgoing.id,
    contact: headerOf(request, 'Contact') ?? '',
  })
  updateRouteSet(core, dialog, request, response, flow)
  return dialog
}

/**
 * Updates route set and remote target from a response that creates or confirms a UAC dialog (RFC 3261
 * 13.2.2.4: the 2xx is decisive). Without a Contact the target is the Request-URI.
 */
export function updateRouteSet(
  core: Core,
  dialog: Dialog,
  request: SipRequest,
  response: SipResponse,
  flow: Flow,
): void {
  dialog.routeSet = [...recordRoutes(response)].reverse()
  const contact = contactUri(response)
  dialog.remoteTarget = contact ?? request.uri
  dialog.natNextHop = null
  if (flow.reliable) dialog.connection = flow
  else if (core.nat && isBehindNat('uac', dialog.routeSet, dialog.remoteTarget, flow.remote)) {
    dialog.natNextHop = nextHopAt(flow.transport, flow.remote)
  }
}
