/** Every bound of the server in one place. Exceeding one has a named outcome, never growth. */
export interface Limits {
  /** Stream messages that announce more are answered 413 and the connection is closed. Datagrams end at 65,535 anyway. */
  readonly messageBytes: number
  /** Start line and headers together; more is answered 513. */
  readonly headBytes: number
  readonly headerLines: number
  /** One frame of the application protocol; a longer one is skipped and its command refused. */
  readonly frameBytes: number
  /** Bytes an application may leave unread before it is taken for dead. */
  readonly applicationBacklogBytes: number
  readonly applications: number
  /** SIP connections at once; further incoming ones are closed at once, strangers' from three quarters on. */
  readonly connections: number
  /** Of them, those of one source address that is neither exempt nor trusted. */
  readonly connectionsPerSource: number
  /** Bytes a SIP connection may leave unread before it is closed. */
  readonly connectionBacklogBytes: number
  /** Server transactions at once; above it new requests get 503 with Retry-After. */
  readonly transactions: number
  /** Unanswered INVITEs of one source address; above it 503 with Retry-After. */
  readonly pendingPerSource: number
  /** A larger request goes by TCP where a choice is left (RFC 3261 18.1.1: 1300 without a known MTU). */
  readonly datagramBytes: number
  /** Connected UDP sockets kept for quick news of unreachable ports. */
  readonly connectedUdpSockets: number
}

export const DEFAULT_LIMITS: Limits = {
  messageBytes: 262_144,
  headBytes: 65_535,
  headerLines: 256,
  frameBytes: 512 * 1024,
  applicationBacklogBytes: 32 * 1024 * 1024,
  applications: 64,
  connections: 4096,
  connectionsPerSource: 256,
  connectionBacklogBytes: 4 * 1024 * 1024,
  transactions: 20_000,
  pendingPerSource: 2_000,
  datagramBytes: 1300,
  connectedUdpSockets: 128,
}

/** Seconds asked of a peer that met a full server. */
export const RETRY_AFTER_S = 5
