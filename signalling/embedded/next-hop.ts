import { lookup } from 'node:dns'
import { isIP } from 'node:net'
import type { Clock } from '../../media/base/clock.js'
import { affinity, isWildcard } from './local-address.js'
import { paramOf, parseUri } from './sip-header.js'
import type { Endpoint, Flow, Protocol, Transport } from './transport.js'

/** Where a URI asks to be reached. */
export interface Target {
  readonly host: string
  readonly port: number
  /** The `transport` parameter: then no other may be used. */
  readonly protocol: Protocol | null
}

/** A place to send to: the address and the transport that suits it. */
export interface Destination {
  readonly transport: Transport
  readonly remote: Endpoint
}

const CACHE_MS = 30_000
const CACHE_SIZE = 1000

/** Null for what this server cannot send to: other schemes, TLS, unknown transports. */
export function targetOf(uri: string): Target | null {
  const parsed = parseUri(uri)
  if (parsed === null || parsed.scheme !== 'sip') return null
  const transport = paramOf(parsed.params, 'transport')?.toLowerCase() ?? null
  if (transport !== null && transport !== 'udp' && transport !== 'tcp') return null
  const host = paramOf(parsed.params, 'maddr') || parsed.host
  return { host, port: parsed.port ?? 5060, protocol: transport }
}

/** The best transport for an address: same family, the wanted protocol, the nearest local address. */
export function chooseTransport(
  transports: readonly Transport[],
  protocol: Protocol | null,
  address: string,
): Transport | null {
  const family = isIP(address) === 6 ? 6 : 4
  let best: Transport | null = null
  let bestScore = Number.NEGATIVE_INFINITY
  for (const transport of transports) {
    if (transport.family !== family || (protocol !== null && transport.protocol !== protocol)) continue
    const { address: local } = transport.bound
    // Without a wish UDP comes first (RFC 3263 4.1 for plain SIP without NAPTR).
    const preference = protocol === null && transport.protocol === 'udp' ? 1000 : 0
    const score = preference + (isWildcard(local) ? 0.5 : affinity(local, address))
    if (score > bestScore) {
      best = transport
      bestScore = score
    }
  }
  return best
}

/** A flow of that destination; TCP connections are reused. */
export function flowOf(destination: Destination): Flow {
  return destination.transport.flowTo(destination.remote)
}

/**
 * Finds the addresses of host names (A and AAAA). Literal addresses are answered at once, in the
 * same call; questions for one name share one look-up, so answers keep the order of the questions.
 */
export class Resolver {
  readonly #clock: Clock
  readonly #known = new Map<string, { readonly addresses: readonly string[]; readonly until: number }>()
  readonly #asked = new Map<string, ((addresses: readonly string[]) => void)[]>()
  #closed = false

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Calls back with the addresses in order of preference, none when the name is unknown. */
  resolve(host: string, done: (addresses: readonly string[]) => void): void {
    if (isIP(host) !== 0) {
      done([host])
      return
    }
    const waiting = this.#asked.get(host)
    if (waiting) {
      waiting.push(done)
      return
    }
    const known = this.#known.get(host)
    if (known && known.until > this.#clock.now()) {
      done(known.addresses)
      return
    }
    this.#asked.set(host, [done])
    lookup(host, { all: true, verbatim: true }, (error, found) => {
      const addresses = error ? [] : found.map((entry) => entry.address)
      const listeners = this.#asked.get(host) ?? []
      this.#asked.delete(host)
      if (this.#closed) return
      if (addresses.length > 0) this.#remember(host, addresses)
      for (const listener of listeners) listener(addresses)
    })
  }

  /** Answers that arrive later are dropped. */
  close(): void {
    this.#closed = true
    this.#asked.clear()
  }

  #remember(host: string, addresses: readonly string[]): void {
    if (this.#known.size >= CACHE_SIZE) this.#known.clear()
    this.#known.set(host, { addresses, until: this.#clock.now() + CACHE_MS })
  }
}
