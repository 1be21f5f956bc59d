import type { Core } from '../core.js'
import type { Dialog } from '../dialog/dialog.js'
import { type Flow, isSecure, type SocketAddress, type Transport } from '../transport/transport.js'
import { chooseTransport, type Destination, destinationKey, flowOf, type Pin } from './next-hop.js'
import type { ServerAddress } from './server-location.js'
import { parseTarget, type Target } from './target.js'

/** Where a request is to go: a known way, or a URI's target still to be resolved. */
export type Hop =
  | { readonly by: 'flow'; readonly flow: Flow }
  /** The connection a client registered over: nothing else reaches it. */
  | { readonly by: 'registered'; readonly flow: Flow }
  | { readonly by: 'pin'; readonly destination: Pin }
  | { readonly by: 'target'; readonly target: Target }

/** One way to try. */
export interface Way {
  readonly transport: Transport
  readonly remote: SocketAddress
  /** What the quarantine knows it by. */
  readonly key: string
  /** Found by SRV: a 503 there sends the request on to the next one (RFC 3263 4.3). */
  readonly srv: boolean
  /** The same peer by TCP, for what is too large for a datagram; null where no choice is left. */
  readonly large: Way | null
  open(): Flow
}

export type Ways =
  /** In order of preference, at least one. */
  | { readonly found: 'some'; readonly open: readonly Way[] }
  /** The name has no address; `transport` would have been used. */
  | { readonly found: 'no address'; readonly transport: Transport }
  | { readonly found: 'no transport' }
  | { readonly found: 'gone'; readonly transport: Transport }

/** Resolves a hop; calls back in the same call when no name has to be looked up. */
export function findWays(core: Core, hop: Hop, done: (ways: Ways) => void): void {
  if (hop.by === 'registered' && !hop.flow.open) {
    done({ found: 'gone', transport: hop.flow.transport })
    return
  }
  if (hop.by === 'flow' || hop.by === 'registered') {
    const { transport, remote } = hop.flow
    const destination = { transport, remote, name: remote.address }
    done({ found: 'some', open: [wayOf(destination, null, false, () => hop.flow)] })
    return
  }
  if (hop.by === 'pin') {
    done({ found: 'some', open: [wayOf({ ...hop.destination, name: hop.destination.remote.address })] })
    return
  }
  findTarget(core, hop.target, done)
}

function findTarget(core: Core, target: Target, done: (ways: Ways) => void): void {
  const { protocol, secure } = target
  const candidates = core.transports.filter(
    (transport) =>
      (protocol ?? transport.protocol) === transport.protocol && (!secure || isSecure(transport.protocol)),
  )
  const [fallback] = candidates
  if (fallback === undefined) {
    done({ found: 'no transport' })
    return
  }
  const supported = new Set(candidates.map((transport) => transport.protocol))
  core.locations.find(target, supported, ({ addresses: places, fromSrv: srv }) => {
    const open = places.flatMap((place) => {
      const way = wayTo(core, target, place, srv)
      return way === null ? [] : [way]
    })
    if (open.length > 0) done({ found: 'some', open: core.quarantine.sort(open, ({ key }) => key) })
    else if (places.length > 0) done({ found: 'no transport' })
    else done({ found: 'no address', transport: fallback })
  })
}

function wayTo(
  core: Core,
  target: Target,
  { protocol, address, port }: ServerAddress,
  srv: boolean,
): Way | null {
  const destination = (transport: Transport | null): Destination | null =>
    transport && { transport, remote: { address, port }, name: target.host }
  const chosen = destination(chooseTransport(core.transports, protocol, address))
  if (chosen === null) return null
  const free = protocol === 'udp' && target.protocol === null
  const stream = free ? destination(chooseTransport(core.transports, 'tcp', address)) : null
  return wayOf(chosen, stream && wayOf(stream, null, srv), srv)
}

function wayOf(
  destination: Destination,
  large: Way | null = null,
  srv = false,
  open: () => Flow = () => flowOf(destination),
): Way {
  const { transport, remote } = destination
  return { transport, remote, key: destinationKey(destination), srv, large, open }
}

/** The hop of a request inside a dialog; null when its route cannot be used at all. */
export function hopOf(core: Core, dialog: Dialog, nextHop: string): Hop | null {
  const target = parseTarget(nextHop)
  // However the peer came: what it wants by SIPS goes over TLS.
  const clear = target?.secure !== true
  const { natNextHop: pinned, connection } = dialog
  if (pinned && (clear || isSecure(pinned.transport.protocol))) return { by: 'pin', destination: pinned }
  if (connection?.open && (clear || isSecure(connection.protocol))) return { by: 'flow', flow: connection }
  // A client that lost its connection and registered again is reached by the new one.
  const renewed = core.registeredFlows.find('INVITE', nextHop)
  if (renewed?.open) return { by: 'registered', flow: renewed }
  return target === null ? null : { by: 'target', target }
}
