import type { Socket } from 'node:net'

export type Protocol = 'udp' | 'tcp' | 'tls' | 'ws' | 'wss'

/** Default ports of URIs without one (RFC 3261 19.1.2, RFC 7118). */
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

/** Returns whether a SIPS URI may be reached over the protocol. */
export function isSecure(protocol: Protocol): boolean {
  return protocol === 'tls' || protocol === 'wss'
}

export interface SocketAddress {
  /** IPv6 without brackets. */
  readonly address: string
  readonly port: number
}

/** A flow to one peer (RFC 5626): the source of a message, or the target of a request. */
export interface Flow {
  readonly protocol: Protocol
  /** True if the transport delivers or reports failure, so that RFC 3261 17 needs no retransmissions. */
  readonly reliable: boolean
  readonly transport: Transport
  readonly remote: SocketAddress
  /** False once the flow cannot send any more. */
  readonly open: boolean
  /**
   * Queues the bytes. Returns false when the flow is closed; later failures reach the `onBroken` listeners.
   */
  send(bytes: Buffer): boolean
  /**
   * Calls `broken` once when the peer is unreachable or the connection ends. Returns a function that
   * unsubscribes.
   */
  onBroken(broken: () => void): () => void
  /**
   * Returns the flow to another port of the peer. Only over UDP, where a peer may receive at another port than its
   * source port.
   */
  atPort?(port: number): Flow
}

/** Returns a flow that sends nothing, for a peer that cannot be reached. */
export function closedFlow(transport: Transport, remote: SocketAddress): Flow {
  return {
    protocol: transport.protocol,
    reliable: false,
    transport,
    remote,
    open: false,
    send: () => false,
    onBroken: () => () => {},
  }
}

/** A listening address. */
export interface Transport {
  readonly protocol: Protocol
  readonly family: 4 | 6
  /** The bound address; may be a wildcard. */
  readonly bound: SocketAddress
  /** Returns the address for Via and Contact towards this peer. */
  advertised(peerAddress: string): SocketAddress
  /** Returns whether the peer is in the local network of the listener, which makes it the best choice. */
  isLocalPeer(peerAddress: string): boolean
  /**
   * Returns a flow for requests: over UDP one that reports unreachable ports, otherwise an open or a new
   * connection. Over TLS the peer has to prove `name`: the domain, or the address, of the URI.
   */
  flowTo(remote: SocketAddress, name: string): Flow
  /** Returns an open connection with the peer, opened by either side; null without one, and always over UDP. */
  connectionWith(remote: SocketAddress): Flow | null
  close(): Promise<void>
}

/** Callbacks of the transports. */
export interface TransportEvents {
  /**
   * Counts and admits a new connection. Returns false for a rejected connection, which has been destroyed.
   */
  admitConnection(socket: Socket): boolean
  onMessage(bytes: Buffer, flow: Flow): void
  /** Returns whether a keep-alive of a connection may be answered now. */
  admitKeepAlive(flow: Flow): boolean
  /** A stream lost its framing or a message is too large. The flow closes after the response. */
  onBadStream(status: 400 | 413 | 513, reason: string, head: Buffer | null, flow: Flow): void
}

export function socketAddressKey(endpoint: SocketAddress): string {
  return `${endpoint.address}|${endpoint.port}`
}
