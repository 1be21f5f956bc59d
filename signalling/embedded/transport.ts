export type Protocol = 'udp' | 'tcp'

export interface Endpoint {
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
  readonly remote: Endpoint
  /** False once nothing can be sent this way any more. */
  readonly open: boolean
  /** Queues the bytes; false when the way is closed. Later failures reach the watchers. */
  send(bytes: Buffer): boolean
  /** Calls once when the peer proves unreachable or the connection ends; returns the way out. */
  watch(broken: () => void): () => void
}

/** A listening address. */
export interface Transport {
  readonly protocol: Protocol
  readonly family: 4 | 6
  /** As bound; the address may be a wildcard. */
  readonly bound: Endpoint
  /** What Via and Contact say to this peer. */
  advertised(peerAddress: string): Endpoint
  /** A flow for requests: over UDP with news of unreachable ports, over TCP reusing a connection. */
  flowTo(remote: Endpoint): Flow
  close(): Promise<void>
}

/** What the transports hand up. */
export interface TransportEvents {
  onMessage(bytes: Buffer, flow: Flow): void
  /** A stream that can no longer be framed; the flow closes after the answer. */
  onBadStream(status: 400 | 413, reason: string, head: Buffer | null, flow: Flow): void
}

export function endpointKey(endpoint: Endpoint): string {
  return `${endpoint.address}|${endpoint.port}`
}
