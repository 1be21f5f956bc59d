import { readAppMessage } from '../app/app-message.js'
import { confirmProxyDone, rejectCommand, reportBranchResponse } from '../app/app-notifications.js'
import type { App, ProxyCommand } from '../app/control-port.js'
import type { Core } from '../core.js'
import { type Header, type SipRequest, serialise } from '../message/sip-message.js'
import type { Transport } from '../transport/transport.js'
import { unsupportedProxyRequire } from '../user-agent/capabilities.js'
import { isOwnUri, recordRouteUri } from '../user-agent/own-headers.js'
import type { IncomingRequest } from '../user-agent/pending-requests.js'
import { finishIncoming, removeIncoming } from '../user-agent/responses.js'
import {
  forwardedRequest,
  nextMaxForwards,
  ownRecordRoutes,
  resolveRoute,
  stripOwnRoutes,
} from './request-forwarding.js'
import { ResponseContext } from './response-context.js'

/*
 * Handles `proxy` commands: an application has a request forwarded instead of answering it. Serves `parley
 * sip-server`; calls of the service do not use it.
 */

/** Headers that identify the request, which the application must not change. */
const FIXED: ReadonlySet<string> = new Set(['From', 'To', 'Call-ID', 'CSeq', 'Contact', 'Max-Forwards'])

export function proxyRequest(core: Core, app: App, command: ProxyCommand): void {
  const { messageId, transactionId } = command
  const incoming = core.incoming.get(transactionId)
  if (incoming === undefined || incoming.app !== app) {
    rejectCommand(app, messageId, `Unknown transaction id: ${transactionId}`)
    return
  }
  const read = readAppMessage(command.body)
  if (!read.ok || command.destinations.length === 0) {
    rejectCommand(app, messageId, read.ok ? 'error proxying request to ' : read.error)
    return
  }
  const maxForwards = nextMaxForwards(incoming.request)
  if (maxForwards === null) {
    finishIncoming(core, incoming, 483)
    rejectCommand(app, messageId, 'Max-Forwards exhausted')
    return
  }
  const unsupported = unsupportedProxyRequire(incoming.request)
  if (unsupported !== null) {
    finishIncoming(core, incoming, 420, unsupported)
    rejectCommand(app, messageId, 'the request requires a proxy extension this server does not have')
    return
  }
  const added = read.message.headers.filter((header) => !FIXED.has(header.name))
  relay(core, app, command, incoming, maxForwards, added)
}

function relay(
  core: Core,
  app: App,
  command: ProxyCommand,
  incoming: IncomingRequest,
  maxForwards: number,
  added: readonly Header[],
): void {
  const { messageId, recordRoute } = command
  const { request, essentials } = incoming
  const formsDialog = request.method === 'INVITE' || request.method === 'SUBSCRIBE'
  // The application gives up the request. A copy that loops back to us does not count as merged.
  removeIncoming(core, incoming)
  core.mergedRequests.delete(
    `${request.method}|${essentials.cseq}|${essentials.fromTag}|${essentials.callId}`,
  )
  if (recordRoute) core.proxiedCalls.add(essentials.callId)
  const relay = new ResponseContext(core, incoming, {
    destinations: command.destinations,
    simultaneous: command.simultaneous,
    followRedirects: command.followRedirects,
    provisionalMs: command.provisionalMs,
    compose: (destination, transport, peer) =>
      composed(core, incoming, destination, recordRoute, maxForwards, added, transport, peer),
    // In parallel, each destination is a dialog of its own to the caller, with its own numbering.
    ...(recordRoute && !command.simultaneous
      ? { rewriteProvisional: (response) => core.proxiedCalls.renumberRSeq(essentials.callId, response) }
      : {}),
    onFinal: (response, flow) => {
      if (command.fullResponse) reportBranchResponse(core, app, messageId, serialise(response), flow)
    },
    onDone: (status, reached) => {
      if (recordRoute && (status >= 300 || !formsDialog)) core.proxiedCalls.remove(essentials.callId)
      if (!reached) rejectCommand(app, messageId, 'error proxying request to ')
      else if (command.fullResponse) confirmProxyDone(app, messageId)
    },
  })
  relay.start()
  if (!command.fullResponse) confirmProxyDone(app, messageId)
}

/** RFC 3261 16.6: the Request-URI is replaced only when it is an address of this server. */
function composed(
  core: Core,
  incoming: IncomingRequest,
  destination: string,
  recordRoute: boolean,
  maxForwards: number,
  added: readonly Header[],
  transport: Transport,
  peer: string,
): SipRequest {
  const { request, flow } = incoming
  const rest = stripOwnRoutes(core, request)
  const uri = isOwnUri(core, rest.uri) ? destination : rest.uri
  const inserted: Header[] = []
  if (recordRoute && request.method === 'REGISTER') {
    inserted.push(
      { name: 'Path', value: recordRouteUri(transport, peer) },
      { name: 'Require', value: 'path' },
    )
  } else if (recordRoute) {
    const from = { transport: flow.transport, peer: flow.remote.address }
    for (const value of ownRecordRoutes(from, { transport, peer })) {
      inserted.push({ name: 'Record-Route', value })
    }
  }
  const route = rest.routes.length > 0 ? resolveRoute({ ...rest, uri }) : { ...rest, uri }
  return forwardedRequest(request, route, maxForwards, inserted, added)
}
