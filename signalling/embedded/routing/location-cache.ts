import { isIP } from 'node:net'
import type { Clock } from '../../../media/base/clock.js'
import { errorText } from '../../../media/base/errors.js'
import type { Log } from '../../../media/base/log.js'
import { defaultPort, type Protocol } from '../transport/transport.js'
import type { Dns, Records } from './dns.js'
import {
  defaultProtocol,
  locateServers,
  NO_LOCATION,
  type ServerAddress,
  type ServerLocation,
  serverAddresses,
} from './server-location.js'
import type { Target } from './target.js'

/** Cache time (s) when the source has no TTL (the hosts file): short enough for manual changes. */
const DEFAULT_TTL_S = 30
/** Maximum cache time (s), so that a failover by DNS takes effect. */
const MAX_TTL_S = 3_600
const CACHE_SIZE = 1000

/** The server addresses for one request, best first. */
export interface LocatedAddresses {
  readonly addresses: readonly ServerAddress[]
  readonly fromSrv: boolean
}

interface CachedLocation {
  readonly located: ServerLocation
  readonly until: number
}

/**
 * Resolves targets and caches the results as long as the DNS allows. Literal addresses are answered
 * synchronously. Queries for one target share one lookup, so that answers keep the order of the queries.
 */
export class LocationCache {
  readonly #clock: Clock
  readonly #log: Log
  readonly #dns: Dns
  readonly #random: () => number
  readonly #cache = new Map<string, CachedLocation>()
  readonly #waiting = new Map<string, ((found: LocatedAddresses) => void)[]>()
  #closed = false

  constructor(clock: Clock, log: Log, dns: Dns, random: () => number = Math.random) {
    this.#clock = clock
    this.#log = log
    this.#dns = dns
    this.#random = random
  }

  /** Calls back with the server addresses in order of preference; none when the name has no address. */
  find(target: Target, supported: ReadonlySet<Protocol>, done: (found: LocatedAddresses) => void): void {
    const { host, port, protocol, secure } = target
    if (isIP(host) !== 0) {
      const chosen = defaultProtocol(target, (one) => supported.has(one) && (!secure || one === 'tls'))
      const server = { protocol: chosen, address: host, port: port ?? defaultPort(chosen) }
      done({ addresses: [server], fromSrv: false })
      return
    }
    const key = `${host}|${port ?? ''}|${protocol ?? ''}|${secure}`
    const callers = this.#waiting.get(key)
    if (callers) {
      callers.push(done)
      return
    }
    const cached = this.#cache.get(key)
    if (cached && cached.until > this.#clock.now()) {
      done(this.#draw(cached.located))
      return
    }
    this.#waiting.set(key, [done])
    void this.#lookUp(key, target, supported)
  }

  /** Drops all answers that arrive later. */
  close(): void {
    this.#closed = true
    this.#waiting.clear()
    this.#dns.close()
  }

  async #lookUp(key: string, target: Target, supported: ReadonlySet<Protocol>): Promise<void> {
    let located = NO_LOCATION
    const measured = withShortestTtl(this.#dns)
    try {
      located = await locateServers(target, supported, measured.dns)
    } catch (error) {
      if (!this.#closed) this.#log.warn({ error: errorText(error), host: target.host }, 'dns.lookup_failed')
    }
    if (this.#closed) return
    const callers = this.#waiting.get(key) ?? []
    this.#waiting.delete(key)
    if (located.services.length > 0) this.#remember(key, located, measured.ttlS())
    for (const caller of callers) caller(this.#draw(located))
  }

  #draw(located: ServerLocation): LocatedAddresses {
    return { addresses: serverAddresses(located, this.#random), fromSrv: located.fromSrv }
  }

  #remember(key: string, located: ServerLocation, ttlS: number): void {
    this.#cache.delete(key)
    if (ttlS === 0) return
    if (this.#cache.size >= CACHE_SIZE) this.#cache.clear()
    this.#cache.set(key, { located, until: this.#clock.now() + ttlS * 1000 })
  }
}

/** Returns a resolver that also records the shortest TTL (s) of its answers. */
function withShortestTtl(dns: Dns): { readonly dns: Dns; ttlS(): number } {
  let shortest = MAX_TTL_S
  const recorded = async <T>(answer: Promise<Records<T>>): Promise<Records<T>> => {
    const found = await answer
    if (found.length > 0) shortest = Math.min(shortest, found.ttlS ?? DEFAULT_TTL_S)
    return found
  }
  return {
    dns: {
      naptr: (name) => recorded(dns.naptr(name)),
      srv: (name) => recorded(dns.srv(name)),
      addresses: (name) => recorded(dns.addresses(name)),
      close: () => {},
    },
    ttlS: () => shortest,
  }
}
