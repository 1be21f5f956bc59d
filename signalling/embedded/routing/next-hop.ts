import { isIP } from 'node:net'
import type { Core } from '../core.js'
import type { Dialog } from '../dialog/dialog.js'
import { affinity, isWildcard } from '../transport/local-address.js'
import {
  type Flow,
  isSecure,
  type Protocol,
  type SocketAddress,
  socketAddressKey,
  type Transport,
} from '../transport/transport.js'
import type { ServerAddress } from './server-location.js'
import { parseTarget, type Target } from './target.js'

/*
 * Routing of requests in three steps: a URI names a target, RFC 3263 resolves the target to next hops, and
 * a next hop opens a flow (RFC 5626).
 */

/** A transport and the address of a peer to reach over it. */
export interface NextHop {
  readonly transport: Transport
  readonly remote: SocketAddress
  /** The domain or address of the URI, which the peer has to prove over TLS (RFC 5922 7). */
  readonly name: string
  /** Whether SRV records led here: a 503 then sends the request on to the next hop (RFC 3263 4.3). */
  readonly fromSrv: boolean
  /** The same peer over TCP, for requests too large for a datagram; null when the transport is fixed. */
  readonly overTcp: NextHop | null
  /** The flow to use; null opens or reuses one by address. */
  readonly flow: Flow | null
}

/** The destination of a request (RFC 3261 8.1.2). */
export type Destination =
  | { readonly kind: 'flow'; readonly flow: Flow }
  | { readonly kind: 'nextHop'; readonly nextHop: NextHop }
  | { readonly kind: 'target'; readonly target: Target }

/** The outcome of resolving a destination. */
export type NextHops =
  /** At least one next hop, in order of preference. */
  | { readonly kind: 'found'; readonly nextHops: readonly NextHop[] }
  /** The name has no address; `transport` would have been used. */
  | { readonly kind: 'no address'; readonly transport: Transport }
  | { readonly kind: 'no transport' }
  | { readonly kind: 'flow closed'; readonly transport: Transport }

/** Returns the next hop at an address; the options are as in `NextHop`. */
export function nextHopAt(
  transport: Transport,
  remote: SocketAddress,
  options: Partial<Omit<NextHop, 'transport' | 'remote'>> = {},
): NextHop {
  return { transport, remote, name: remote.address, fromSrv: false, overTcp: null, flow: null, ...options }
}

/** Returns the flow of a next hop; open connections are reused. */
export function openFlow({ transport, remote, name, flow }: NextHop): Flow {
  return flow ?? transport.flowTo(remote, name)
}

/** Returns the key of a next hop in the quarantine. */
export function nextHopKey({ transport, remote }: NextHop): string {
  return `${transport.protocol}|${socketAddressKey(remote)}`
}

/** Resolves a destination. Calls `done` synchronously unless a host name has to be looked up. */
export function resolveNextHops(
  core: Core,
  destination: Destination,
  done: (result: NextHops) => void,
): void {
  switch (destination.kind) {
    case 'flow': {
      const { flow } = destination
      const { transport, remote } = flow
      if (flow.open) done({ kind: 'found', nextHops: [nextHopAt(transport, remote, { flow })] })
      else done({ kind: 'flow closed', transport })
      break
    }
    case 'nextHop':
      done({ kind: 'found', nextHops: [destination.nextHop] })
      break
    case 'target':
      resolveTarget(core, destination.target, done)
  }
}

function resolveTarget(core: Core, target: Target, done: (result: NextHops) => void): void {
  const { protocol, secure } = target
  const candidates = core.transports.filter(
    (transport) =>
      (protocol ?? transport.protocol) === transport.protocol && (!secure || isSecure(transport.protocol)),
  )
  const [first] = candidates
  if (first === undefined) {
    done({ kind: 'no transport' })
    return
  }
  const supported = new Set(candidates.map((transport) => transport.protocol))
  core.locations.find(target, supported, ({ addresses, fromSrv }) => {
    const nextHops = addresses.flatMap((address) => nextHopsTo(core, target, address, fromSrv))
    if (nextHops.length > 0) done({ kind: 'found', nextHops: core.quarantine.sort(nextHops, nextHopKey) })
    else if (addresses.length > 0) done({ kind: 'no transport' })
    else done({ kind: 'no address', transport: first })
  })
}

/** Returns the next hop for a server address; empty when no transport of this server reaches it. */
function nextHopsTo(
  core: Core,
  target: Target,
  { protocol, address, port }: ServerAddress,
  fromSrv: boolean,
): readonly NextHop[] {
  const over = (wanted: Protocol, overTcp: NextHop | null): NextHop | null => {
    const transport = chooseTransport(core.transports, wanted, address)
    return transport && nextHopAt(transport, { address, port }, { name: target.host, fromSrv, overTcp })
  }
  const anyProtocol = protocol === 'udp' && target.protocol === null
  const nextHop = over(protocol, anyProtocol ? over('tcp', null) : null)
  return nextHop === null ? [] : [nextHop]
}

/** Returns the best transport for an address: same family and protocol, nearest local address; or null. */
export function chooseTransport(
  transports: readonly Transport[],
  protocol: Protocol,
  address: string,
): Transport | null {
  const family = isIP(address) === 6 ? 6 : 4
  let best: Transport | null = null
  let bestScore = Number.NEGATIVE_INFINITY
  for (const transport of transports) {
    if (transport.family !== family || transport.protocol !== protocol) continue
    const { address: local } = transport.bound
    const nearness = isWildcard(local) ? 0.5 : affinity(local, address)
    const publicBonus = isPublicListener(transport, address) ? 0.25 : 0
    const score = transport.isLocalPeer(address) ? 100 : nearness + publicBonus
    if (score > bestScore) {
      best = transport
      bestScore = score
    }
  }
  return best
}

/** Returns whether the listener shows this peer an address outside a NAT, so that it is meant for it. */
function isPublicListener(transport: Transport, peer: string): boolean {
  const { address } = transport.bound
  return !isWildcard(address) && transport.advertised(peer).address !== address
}

/** Returns the destination of a request inside a dialog, or null when its route is unusable. */
export function destinationInDialog(core: Core, dialog: Dialog, uri: string): Destination | null {
  const target = parseTarget(uri)
  // A SIPS target requires TLS, whatever transport the peer used before.
  const allows = (protocol: Protocol) => target?.secure !== true || isSecure(protocol)
  const { natNextHop, connection } = dialog
  if (natNextHop && allows(natNextHop.transport.protocol)) return { kind: 'nextHop', nextHop: natNextHop }
  if (connection?.open && allows(connection.protocol)) return { kind: 'flow', flow: connection }
  // A client that lost its connection and registered again is reached over the new one.
  const registered = core.registeredFlows.find('INVITE', uri)
  if (registered?.open) return { kind: 'flow', flow: registered }
  return target === null ? null : { kind: 'target', target }
}
