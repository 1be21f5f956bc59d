import { paramOf, parseUri } from '../message/sip-header.js'
import type { Protocol } from '../transport/transport.js'

/** Where a URI asks to be reached. */
export interface Target {
  /** Name or literal address; `maddr` where there is one. */
  readonly host: string
  /** Null when the URI names none: then DNS may. */
  readonly port: number | null
  /** From the `transport` parameter, made secure for SIPS: then no other may be used. */
  readonly protocol: Protocol | null
  /** A SIPS URI: only TLS will do, whatever DNS says. */
  readonly secure: boolean
}

const PROTOCOLS: ReadonlyMap<string, Protocol> = new Map(
  (['udp', 'tcp', 'tls', 'ws', 'wss'] as const).map((protocol) => [protocol, protocol]),
)

/** What `transport=` means in a SIPS URI: how the TLS connection is carried (RFC 3261 26.2.2). */
const SECURED: Readonly<Record<Protocol, Protocol | null>> = {
  udp: null,
  tcp: 'tls',
  tls: 'tls',
  ws: 'wss',
  wss: 'wss',
}

/** Null for what this server cannot send to: other schemes, unknown transports, SIPS over UDP. */
export function parseTarget(uri: string): Target | null {
  const parsed = parseUri(uri)
  if (parsed === null) return null
  const secure = parsed.scheme === 'sips'
  const wish = paramOf(parsed.params, 'transport')?.toLowerCase() ?? null
  const named = wish === null ? null : (PROTOCOLS.get(wish) ?? null)
  if (wish !== null && named === null) return null
  const protocol = named !== null && secure ? SECURED[named] : named
  if (named !== null && protocol === null) return null
  const host = paramOf(parsed.params, 'maddr') || parsed.host
  return { host: host.replace(/^\[|\]$/g, '').toLowerCase(), port: parsed.port, protocol, secure }
}
