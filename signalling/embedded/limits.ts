/** All bounds of the server. Exceeding one has a defined outcome and never lets memory grow. */
export interface Limits {
  /**
   * Maximum size (bytes) of a message on a stream. A longer one is answered with 413 and closes the
   * connection. Datagrams are limited to 65,535 bytes anyway.
   */
  readonly messageBytes: number
  /** Maximum size (bytes) of start line and headers together; more is answered with 513. */
  readonly headBytes: number
  readonly headerLines: number
  /**
   * Maximum size (bytes) of a frame of the application protocol; a longer one is skipped and its command
   * rejected.
   */
  readonly frameBytes: number
  /** Unread bytes after which an application counts as dead and is disconnected. */
  readonly applicationBacklogBytes: number
  readonly applications: number
  /**
   * Maximum number of SIP connections. Unknown sources may use three quarters of them; further connections
   * are closed at once.
   */
  readonly connections: number
  /** Maximum number of connections of one source address that is neither exempt nor trusted. */
  readonly connectionsPerSource: number
  /** Unread bytes after which a SIP connection is closed. */
  readonly connectionBacklogBytes: number
  /**
   * Maximum number of server transactions. Above it a new request gets 503 with Retry-After. For an unknown
   * source the limit is three quarters of it.
   */
  readonly transactions: number
  /**
   * Maximum number of server transactions of one call, other than for BYE and CANCEL; beyond it its requests
   * get 503 with Retry-After. Over UDP a transaction lasts 32 s.
   */
  readonly transactionsPerCall: number
  /** Maximum number of unanswered INVITEs of one source address; beyond it 503 with Retry-After. */
  readonly pendingPerSource: number
  /**
   * Size (bytes) above which a request goes by TCP if there is a choice (RFC 3261 18.1.1: 1300 without a
   * known MTU).
   */
  readonly datagramBytes: number
  /** Maximum number of connected UDP sockets, which report unreachable ports immediately. */
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
  transactionsPerCall: 256,
  pendingPerSource: 2_000,
  datagramBytes: 1300,
  connectedUdpSockets: 128,
}

/** Retry-After (s) in the 503 of an overloaded server. */
export const RETRY_AFTER_S = 5
