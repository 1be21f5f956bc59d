import { paramOf, parseUri } from '../message/sip-header.js'
import type { Protocol } from '../transport/transport.js'

/** The server that a URI names. */
export interface Target {
  /** Host name or literal address; `maddr` if present. */
  readonly host: string
  /** Null when the URI has no port: then DNS may supply one. */
  readonly port: number | null
  /** From the `transport` parameter, upgraded to TLS for SIPS; null leaves the choice to DNS. */
  readonly protocol: Protocol | null
  /** True if the URI is SIPS, which requires TLS whatever DNS says. */
  readonly secure: boolean
  /** True if only public addresses of the host may be used. */
  readonly publicOnly: boolean
  /**
   * For a client that registered: our listener that it sent to, as `address:port`. Host and port are the source of its
   * messages. A client on a connection is then reached over that connection only. Null for all others.
   */
  readonly flow: string | null
}

/** Parameter of the route of an application: the host was named by a customer, who may not reach private networks. */
export const PUBLIC_ONLY = 'addresses=public'
/** Parameter of such a route: see `Target.flow`. */
export const FLOW = 'flow'

const PROTOCOLS: ReadonlyMap<string, Protocol> = new Map(
  (['udp', 'tcp', 'tls', 'ws', 'wss'] as const).map((protocol) => [protocol, protocol]),
)

/** Meaning of `transport=` in a SIPS URI: what carries the TLS connection (RFC 3261 26.2.2). */
const SECURED: Readonly<Record<Protocol, Protocol | null>> = {
  udp: null,
  tcp: 'tls',
  tls: 'tls',
  ws: 'wss',
  wss: 'wss',
}

/**
 * Parses a URI. Returns null when this server cannot send to it: other schemes, unknown transports, SIPS over
 * UDP.
 */
export function parseTarget(uri: string): Target | null {
  const parsed = parseUri(uri)
  if (parsed === null) return null
  const secure = parsed.scheme === 'sips'
  const requested = paramOf(parsed.params, 'transport')?.toLowerCase() ?? null
  const named = requested === null ? null : (PROTOCOLS.get(requested) ?? null)
  if (requested !== null && named === null) return null
  const protocol = named !== null && secure ? SECURED[named] : named
  if (named !== null && protocol === null) return null
  const host = paramOf(parsed.params, 'maddr') || parsed.host
  const publicOnly = paramOf(parsed.params, 'addresses') === 'public'
  return {
    host: host.replace(/^\[|\]$/g, '').toLowerCase(),
    port: parsed.port,
    protocol,
    secure,
    publicOnly,
    flow: paramOf(parsed.params, FLOW) || null,
  }
}
