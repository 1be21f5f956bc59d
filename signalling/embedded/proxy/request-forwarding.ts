import type { Core } from '../core.js'
import { parseAddress } from '../message/name-addr.js'
import { paramOf, parseInteger, parseUri, splitList } from '../message/sip-header.js'
import { type Header, headerOf, headersOf, type SipRequest } from '../message/sip-message.js'
import type { Transport } from '../transport/transport.js'
import { isOwnUri, recordRouteUri } from '../user-agent/own-headers.js'

/*
 * Builds forwarded requests (RFC 3261 16.4 to 16.6). Serves `parley sip-server`; calls of the service do not
 * use it.
 */

export interface ForwardingRoute {
  readonly uri: string
  /** The remaining Route elements. */
  readonly routes: readonly string[]
}

/** Returns Max-Forwards of the forwarded request, or null when the request must not be forwarded. */
export function nextMaxForwards(request: SipRequest): number | null {
  const given = parseInteger(headerOf(request, 'Max-Forwards') ?? '', 256)
  if (given === null) return 70
  return given === 0 ? null : given - 1
}

/** Returns whether the topmost Route names this server. */
export function hasOwnTopRoute(core: Core, request: SipRequest): boolean {
  const first = splitList(headerOf(request, 'Route') ?? '')[0] ?? ''
  const address = parseAddress(first)
  return address !== null && isOwnUri(core, address.uri)
}

/** Removes our own Route elements and undoes the rewriting of a strict router (RFC 3261 16.4). */
export function stripOwnRoutes(core: Core, request: SipRequest): ForwardingRoute {
  let { uri } = request
  const routes = headersOf(request, 'Route').flatMap((line) => [...splitList(line)])
  const isOwn = (element: string) => isOwnUri(core, parseAddress(element)?.uri ?? '')
  const last = routes.at(-1)
  if (last !== undefined && isOwnUri(core, uri) && paramOf(parseUri(uri)?.params ?? '', 'lr') !== null) {
    uri = parseAddress(last)?.uri ?? uri
    routes.pop()
  }
  while (routes.length > 0 && isOwn(routes[0] ?? '')) routes.shift()
  return { uri, routes }
}

/**
 * Returns the URI of the next hop, and URI and Route in the form that a strict router expects (RFC 3261 16.6
 * step 6).
 */
export function resolveRoute(forwarding: ForwardingRoute): ForwardingRoute & { readonly nextHop: string } {
  const { uri, routes } = forwarding
  const [first, ...rest] = routes
  if (first === undefined) return { uri, routes, nextHop: uri }
  const firstUri = parseAddress(first)?.uri ?? first
  if (paramOf(parseUri(firstUri)?.params ?? '', 'lr') !== null) return { uri, routes, nextHop: firstUri }
  return { uri: firstUri, routes: [...rest, `<${uri}>`], nextHop: firstUri }
}

/**
 * Returns the Record-Route elements of this server: one, or one per side when the call changes the transport
 * here (RFC 5658).
 */
export function ownRecordRoutes(
  from: { readonly transport: Transport; readonly peer: string },
  to: { readonly transport: Transport; readonly peer: string },
): readonly string[] {
  const outer = recordRouteUri(to.transport, to.peer)
  const inner = recordRouteUri(from.transport, from.peer)
  return outer === inner ? [outer] : [outer, inner]
}

/** Builds the forwarded request without our Via. */
export function forwardedRequest(
  request: SipRequest,
  forwarding: ForwardingRoute,
  maxForwards: number,
  inserted: readonly Header[],
  added: readonly Header[],
): SipRequest {
  const headers: Header[] = []
  let placed = false
  for (const header of request.headers) {
    if (header.name === 'Route' || header.name === 'Max-Forwards') continue
    // After the Vias, before the elements that other proxies recorded.
    if (!placed && header.name !== 'Via') {
      placed = true
      headers.push(...inserted)
      for (const value of forwarding.routes) headers.push({ name: 'Route', value })
      headers.push({ name: 'Max-Forwards', value: String(maxForwards) })
    }
    headers.push(header)
  }
  headers.push(...added)
  return { kind: 'request', method: request.method, uri: forwarding.uri, headers, body: request.body }
}
