import { isIP } from 'node:net'
import { isPublicAddress } from '../../../media/base/public-address.js'
import type { Core } from '../core.js'
import type { Dialog } from '../dialog/dialog.js'
import { type Flow, isSecure, type Protocol, type Transport } from '../transport/transport.js'
import { mayName } from './named-address.js'
import { chooseTransport, type NextHop, nextHopAt, nextHopKey } from './next-hop.js'
import type { ServerAddress } from './server-location.js'
import { parseTarget, type Target } from './target.js'

/*
 * Routing of requests in three steps: a URI names a target, RFC 3263 resolves the target to next hops, and
 * a next hop opens a flow (RFC 5626).
 */

/** The destination of a request (RFC 3261 8.1.2). */
export type Destination =
  | { readonly kind: 'flow'; readonly flow: Flow }
  | { readonly kind: 'nextHop'; readonly nextHop: NextHop }
  /** With `peer`, the address of the peer that named the target, only addresses that it may name are used. */
  | { readonly kind: 'target'; readonly target: Target; readonly peer: string | null }

/** The outcome of resolving a destination. */
export type NextHops =
  /** At least one next hop, in order of preference. */
  | { readonly kind: 'found'; readonly nextHops: readonly NextHop[] }
  /** The name has no address; `transport` would have been used. */
  | { readonly kind: 'no address'; readonly transport: Transport }
  | { readonly kind: 'no transport' }
  | { readonly kind: 'flow closed'; readonly transport: Transport }
  /** The connection over which a client registered has ended (RFC 5626 11.5). */
  | { readonly kind: 'flow failed'; readonly transport: Transport }

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
      if (destination.target.flow !== null && destination.peer === null)
        done(registeredFlow(core, destination.target, destination.target.flow))
      else resolveTarget(core, destination.target, destination.peer, done)
  }
}

/**
 * Returns the next hop of a client that registered. Over UDP the listener that it knows is used, since a NAT lets nothing
 * else in; a server that listens elsewhere by now tries its best. A connection is never opened: the client may be behind
 * a NAT, and the port is one of its own choice.
 */
function registeredFlow(core: Core, { host, port, protocol }: Target, local: string): NextHops {
  const usable = core.transports.filter(
    (transport) => transport.protocol === protocol && transport.family === (isIP(host) === 6 ? 6 : 4),
  )
  const [first] = usable
  if (first === undefined || isIP(host) === 0 || port === null) return { kind: 'no transport' }
  const remote = { address: host, port }
  if (protocol !== 'udp') {
    for (const transport of usable) {
      const flow = transport.connectionWith(remote)
      if (flow !== null) return { kind: 'found', nextHops: [nextHopAt(transport, remote, { flow })] }
    }
    return { kind: 'flow failed', transport: first }
  }
  const known = usable.find((transport) => {
    const own = transport.advertised(host)
    return `${own.address}:${own.port}` === local
  })
  const transport = known ?? chooseTransport(usable, 'udp', host) ?? first
  return { kind: 'found', nextHops: [nextHopAt(transport, remote)] }
}

function resolveTarget(
  core: Core,
  target: Target,
  peer: string | null,
  done: (result: NextHops) => void,
): void {
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
  core.locations.find(target, supported, ({ addresses: located, fromSrv }) => {
    const addresses = located.filter(
      ({ address }) =>
        (peer === null || mayName(address, peer)) && (!target.publicOnly || isPublicAddress(address)),
    )
    if (addresses.length < located.length) {
      core.log.warn({ peer, host: target.host }, 'sip.address_not_allowed')
    }
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
  return target === null ? null : { kind: 'target', target, peer: dialog.peer }
}
