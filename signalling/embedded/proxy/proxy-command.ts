import { readAppMessage } from '../app/app-message.js'
import { confirmProxied, refuse, reportProxied } from '../app/app-notifications.js'
import type { App, ProxyCommand } from '../app/control-port.js'
import type { Core } from '../core.js'
import { type Header, type SipRequest, serialise } from '../message/sip-message.js'
import type { Transport } from '../transport/transport.js'
import { screenProxySupport } from '../user-agent/capabilities.js'
import { isOwnUri, routeUriOf } from '../user-agent/own-headers.js'
import type { Incoming } from '../user-agent/pending-requests.js'
import { finishIncoming, forget } from '../user-agent/responses.js'
import {
  forwarded,
  nextMaxForwards,
  nextStop,
  ownRecordRoutes,
  withoutOwnRoutes,
} from './request-forwarding.js'
import { Relay } from './response-context.js'

/*
 * An application that wants a request forwarded instead of answering it.
 */

/** What identifies the request is not the application's to change. */
const FIXED: ReadonlySet<string> = new Set(['From', 'To', 'Call-ID', 'CSeq', 'Contact', 'Max-Forwards'])

export function proxyRequest(core: Core, app: App, command: ProxyCommand): void {
  const { messageId, transactionId } = command
  const incoming = core.incoming.get(transactionId)
  if (incoming === undefined || incoming.app !== app) {
    refuse(app, messageId, `Unknown transaction id: ${transactionId}`)
    return
  }
  const read = readAppMessage(command.body)
  if (!read.ok || command.destinations.length === 0) {
    refuse(app, messageId, read.ok ? 'error proxying request to ' : read.why)
    return
  }
  const maxForwards = nextMaxForwards(incoming.request)
  if (maxForwards === null) {
    finishIncoming(core, incoming, 483)
    refuse(app, messageId, 'Max-Forwards exhausted')
    return
  }
  const unsupported = screenProxySupport(incoming.request)
  if (unsupported !== null) {
    finishIncoming(core, incoming, 420, unsupported)
    refuse(app, messageId, 'the request requires a proxy extension this server does not have')
    return
  }
  const added = read.message.headers.filter((header) => !FIXED.has(header.name))
  relay(core, app, command, incoming, maxForwards, added)
}

function relay(
  core: Core,
  app: App,
  command: ProxyCommand,
  incoming: Incoming,
  maxForwards: number,
  added: readonly Header[],
): void {
  const { messageId, recordRoute } = command
  const { request, essentials } = incoming
  const formsDialog = request.method === 'INVITE' || request.method === 'SUBSCRIBE'
  // The application gives the request away; a copy that comes back to us is no second one.
  forget(core, incoming)
  core.merging.delete(`${request.method}|${essentials.cseq}|${essentials.fromTag}|${essentials.callId}`)
  if (recordRoute) core.proxied.add(essentials.callId)
  const relay = new Relay(core, incoming, {
    destinations: command.destinations,
    simultaneous: command.simultaneous,
    followRedirects: command.followRedirects,
    provisionalMs: command.provisionalMs,
    compose: (destination, transport, peer) =>
      composed(core, incoming, destination, recordRoute, maxForwards, added, transport, peer),
    // At once, each destination is a dialog of its own to the caller, and so is its numbering.
    ...(recordRoute && !command.simultaneous
      ? { provisional: (response) => core.proxied.renumbered(essentials.callId, response) }
      : {}),
    onFinal: (response, flow) => {
      if (command.fullResponse) reportProxied(core, app, messageId, serialise(response), flow)
    },
    onDone: (status, reached) => {
      if (recordRoute && (status >= 300 || !formsDialog)) core.proxied.remove(essentials.callId)
      if (!reached) refuse(app, messageId, 'error proxying request to ')
      else if (command.fullResponse) confirmProxied(app, messageId)
    },
  })
  relay.start()
  if (!command.fullResponse) confirmProxied(app, messageId)
}

/** RFC 3261 16.6: the Request-URI changes only when it was ours to be resolved. */
function composed(
  core: Core,
  incoming: Incoming,
  destination: string,
  recordRoute: boolean,
  maxForwards: number,
  added: readonly Header[],
  transport: Transport,
  peer: string,
): SipRequest {
  const { request, flow } = incoming
  const rest = withoutOwnRoutes(core, request)
  const uri = isOwnUri(core, rest.uri) ? destination : rest.uri
  const inserted: Header[] = []
  if (recordRoute && request.method === 'REGISTER') {
    inserted.push({ name: 'Path', value: routeUriOf(transport, peer) }, { name: 'Require', value: 'path' })
  } else if (recordRoute) {
    const from = { transport: flow.transport, peer: flow.remote.address }
    for (const value of ownRecordRoutes(from, { transport, peer })) {
      inserted.push({ name: 'Record-Route', value })
    }
  }
  const { uri: target, routes } = rest.routes.length > 0 ? nextStop({ ...rest, uri }) : { ...rest, uri }
  return forwarded(request, { uri: target, routes }, maxForwards, inserted, added)
}
