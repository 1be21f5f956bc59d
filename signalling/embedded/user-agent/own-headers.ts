import type { Core } from '../core.js'
import { hostText, parseUri } from '../message/sip-header.js'
import type { Header } from '../message/sip-message.js'
import { parseTarget } from '../routing/target.js'
import { isWildcard } from '../transport/local-address.js'
import {
  defaultPort,
  isSecure,
  type Protocol,
  type SocketAddress,
  type Transport,
} from '../transport/transport.js'

/*
 * The addresses of the server in its own headers: Via, Contact, Record-Route, and the substitution of
 * `localhost` in headers of applications.
 */

const SUBSTITUTED: ReadonlySet<string> = new Set(['From', 'To', 'Contact', 'P-Asserted-Identity'])
const LOCALHOST = /@localhost(?::\d+)?(?=[;>?,\s]|$)/g

export function viaOf(transport: Transport, peerAddress: string, branch: string): string {
  const { protocol } = transport
  const { address, port } = transport.advertised(peerAddress)
  // The default port depends on the transport, and few peers know those of TLS and WebSocket.
  const plain = port === 5060 && (protocol === 'udp' || protocol === 'tcp')
  const sentBy = plain ? hostText(address) : `${hostText(address)}:${port}`
  const rport = protocol === 'udp' ? ';rport' : ''
  return `SIP/2.0/${protocol.toUpperCase()} ${sentBy}${rport};branch=${branch}`
}

/**
 * Returns `<sip:address:port>`, with the transport when it is not UDP. A SIPS Request-URI requires a SIPS
 * Contact (RFC 3261 8.1.1.8, 12.1.1).
 */
export function contactOf(transport: Transport, peerAddress: string, sips = false): string {
  const { protocol } = transport
  const { address, port } = transport.advertised(peerAddress)
  const scheme = sips && isSecure(protocol) ? 'sips' : 'sip'
  return `<${scheme}:${hostText(address)}:${port}${transportParam(protocol)}>`
}

export function isSips(uri: string): boolean {
  return /^sips:/i.test(uri)
}

/** Returns `<sip:address:port;lr>` for Record-Route and Path. */
export function recordRouteUri(transport: Transport, peerAddress: string): string {
  const { address, port } = transport.advertised(peerAddress)
  return `<sip:${hostText(address)}:${port}${transportParam(transport.protocol)};lr>`
}

/**
 * Replaces host and port of `...@localhost[:port]` with the local address of the message. A Contact also
 * names the transport, because the peer would answer by UDP otherwise.
 */
export function substituteLocalhost(
  headers: readonly Header[],
  own: SocketAddress,
  protocol: Protocol,
): readonly Header[] {
  const text = `@${hostText(own.address)}:${own.port}`
  return headers.map((header) => {
    if (!SUBSTITUTED.has(header.name) || !header.value.includes('@localhost')) return header
    const replacement =
      header.name === 'Contact' && !/;transport=/i.test(header.value) ? text + transportParam(protocol) : text
    return { name: header.name, value: header.value.replace(LOCALHOST, replacement) }
  })
}

function transportParam(protocol: Protocol): string {
  return protocol === 'udp' ? '' : `;transport=${protocol}`
}

/** Returns whether a URI is an address of this server. */
export function isOwnUri(core: Core, uri: string): boolean {
  const parsed = parseUri(uri)
  if (parsed === null) return false
  const target = parseTarget(uri)
  const port = parsed.port ?? defaultPort(target?.protocol ?? (target?.secure ? 'tls' : 'udp'))
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
