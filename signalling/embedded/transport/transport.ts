import type { Socket } from 'node:net'

export type Protocol = 'udp' | 'tcp' | 'tls' | 'ws' | 'wss'

/** Ports meant when a URI names none (RFC 3261 19.1.2, RFC 7118). */
const DEFAULT_PORTS: Readonly<Record<Protocol, number>> = {
  udp: 5060,
  tcp: 5060,
  tls: 5061,
  ws: 80,
  wss: 443,
}

export function defaultPort(protocol: Protocol): number {
  return DEFAULT_PORTS[protocol]
}

/** Whether a SIPS URI may be reached over it. */
export function isSecure(protocol: Protocol): boolean {
  return protocol === 'tls' || protocol === 'wss'
}

export interface SocketAddress {
  /** IPv6 without brackets. */
  readonly address: string
  readonly port: number
}

/** A way to one peer: where a message came from, or where a request goes. */
export interface Flow {
  readonly protocol: Protocol
  /** Whether the transport delivers or says so (RFC 3261 17: no retransmissions over it). */
  readonly reliable: boolean
  readonly transport: Transport
  readonly remote: SocketAddress
  /** False once nothing can be sent this way any more. */
  readonly open: boolean
  /** Queues the bytes; false when the way is closed. Later failures reach the watchers. */
  send(bytes: Buffer): boolean
  /** Calls once when the peer proves unreachable or the connection ends; returns the way out. */
  onBroken(broken: () => void): () => void
}

/** A listening address. */
export interface Transport {
  readonly protocol: Protocol
  readonly family: 4 | 6
  /** As bound; the address may be a wildcard. */
  readonly bound: SocketAddress
  /** What Via and Contact say to this peer. */
  advertised(peerAddress: string): SocketAddress
  /** Whether the listener is better suited to that peer than its address alone tells: its own network. */
  isLocalPeer(peerAddress: string): boolean
  /**
   * A flow for requests: over UDP with news of unreachable ports, otherwise reusing a connection.
   * `name` is whom the peer has to prove to be over TLS: the domain, or the address, of the URI.
   */
  flowTo(remote: SocketAddress, name: string): Flow
  close(): Promise<void>
}

/** What the transports hand up. */
export interface TransportEvents {
  /** Whether a new connection is taken, which is counted then; one that is not has been destroyed. */
  admitConnection(socket: Socket): boolean
  onMessage(bytes: Buffer, flow: Flow): void
  /** A stream that can no longer be framed, or is too large; the flow closes after the answer. */
  onBadStream(status: 400 | 413 | 513, reason: string, head: Buffer | null, flow: Flow): void
}

export function socketAddressKey(endpoint: SocketAddress): string {
  return `${endpoint.address}|${endpoint.port}`
}
