import { isIP } from 'node:net'
import { affinity, isWildcard } from '../transport/local-address.js'
import {
  type Flow,
  type Protocol,
  type SocketAddress,
  socketAddressKey,
  type Transport,
} from '../transport/transport.js'

/** An address and the transport to reach it by. */
export interface Pin {
  readonly transport: Transport
  readonly remote: SocketAddress
}

/** A place to send to, and whom to expect there. */
export interface Destination extends Pin {
  /** The domain or address of the URI: over TLS the peer has to prove it (RFC 5922 7). */
  readonly name: string
}

/** The best transport for an address: same family and protocol, the nearest local address. */
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
    const score = transport.isLocalPeer(address)
      ? 100
      : nearness + (showsOther(transport, address) ? 0.25 : 0)
    if (score > bestScore) {
      best = transport
      bestScore = score
    }
  }
  return best
}

/** Whether that peer is shown an address from outside a NAT: such a listener is meant for outsiders. */
function showsOther(transport: Transport, peer: string): boolean {
  const { address } = transport.bound
  return !isWildcard(address) && transport.advertised(peer).address !== address
}

/** A flow of that destination; connections are reused. */
export function flowOf(destination: Destination): Flow {
  return destination.transport.flowTo(destination.remote, destination.name)
}

export function destinationKey({ transport, remote }: Destination): string {
  return `${transport.protocol}|${socketAddressKey(remote)}`
}
