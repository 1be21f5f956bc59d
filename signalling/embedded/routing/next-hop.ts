import { isIP } from 'node:net'
import { affinity, isWildcard } from '../transport/local-address.js'
import {
  type Flow,
  type Protocol,
  type SocketAddress,
  socketAddressKey,
  type Transport,
} from '../transport/transport.js'

/** A transport and the address of a peer to reach over it. */
export interface NextHop {
  readonly transport: Transport
  readonly remote: SocketAddress
  /** The domain or address of the URI, which the peer has to prove over TLS (RFC 5922 7). */
  readonly name: string
  /** True if SRV records led here: a 503 then sends the request on to the next hop (RFC 3263 4.3). */
  readonly fromSrv: boolean
  /** The same peer over TCP, for requests too large for a datagram; null when the transport is fixed. */
  readonly overTcp: NextHop | null
  /** The flow to use; null opens or reuses one by address. */
  readonly flow: Flow | null
}

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
