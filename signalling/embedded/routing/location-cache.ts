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

/** Where nothing tells how long (the hosts file): short enough for a change by hand. */
const DEFAULT_TTL_S = 30
/** Longer than any failover by DNS should take, whatever the TTL. */
const MAX_TTL_S = 3_600
const CACHE_SIZE = 1000

/** Where to send one request, best first. */
export interface LocatedAddresses {
  readonly addresses: readonly ServerAddress[]
  readonly fromSrv: boolean
}

interface Known {
  readonly located: ServerLocation
  readonly until: number
}

/**
 * Finds where targets are, and remembers it as long as the DNS allows. Literal addresses are answered in the same
 * call; questions for one target share one look-up, so answers keep the order of the questions.
 */
export class LocationCache {
  readonly #clock: Clock
  readonly #log: Log
  readonly #dns: Dns
  readonly #random: () => number
  readonly #known = new Map<string, Known>()
  readonly #asked = new Map<string, ((found: LocatedAddresses) => void)[]>()
  #closed = false

  constructor(clock: Clock, log: Log, dns: Dns, random: () => number = Math.random) {
    this.#clock = clock
    this.#log = log
    this.#dns = dns
    this.#random = random
  }

  /** Calls back with the places in order of preference, none when the name leads nowhere. */
  find(target: Target, supported: ReadonlySet<Protocol>, done: (found: LocatedAddresses) => void): void {
    const { host, port, protocol, secure } = target
    if (isIP(host) !== 0) {
      const chosen = defaultProtocol(target, (one) => supported.has(one) && (!secure || one === 'tls'))
      const place = { protocol: chosen, address: host, port: port ?? defaultPort(chosen) }
      done({ addresses: [place], fromSrv: false })
      return
    }
    const key = `${host}|${port ?? ''}|${protocol ?? ''}|${secure}`
    const waiting = this.#asked.get(key)
    if (waiting) {
      waiting.push(done)
      return
    }
    const known = this.#known.get(key)
    if (known && known.until > this.#clock.now()) {
      done(this.#draw(known.located))
      return
    }
    this.#asked.set(key, [done])
    void this.#ask(key, target, supported)
  }

  /** Answers that arrive later are dropped. */
  close(): void {
    this.#closed = true
    this.#asked.clear()
    this.#dns.close()
  }

  async #ask(key: string, target: Target, supported: ReadonlySet<Protocol>): Promise<void> {
    let located = NO_LOCATION
    const metered = meter(this.#dns)
    try {
      located = await locateServers(target, supported, metered.dns)
    } catch (error) {
      if (!this.#closed) this.#log.warn({ error: errorText(error), host: target.host }, 'DNS look-up failed')
    }
    if (this.#closed) return
    const listeners = this.#asked.get(key) ?? []
    this.#asked.delete(key)
    if (located.services.length > 0) this.#remember(key, located, metered.ttlS())
    for (const listener of listeners) listener(this.#draw(located))
  }

  #draw(located: ServerLocation): LocatedAddresses {
    return { addresses: serverAddresses(located, this.#random), fromSrv: located.fromSrv }
  }

  #remember(key: string, located: ServerLocation, ttlS: number): void {
    this.#known.delete(key)
    if (ttlS === 0) return
    if (this.#known.size >= CACHE_SIZE) this.#known.clear()
    this.#known.set(key, { located, until: this.#clock.now() + ttlS * 1000 })
  }
}

/** The same answers, and the shortest time any of them may be remembered for. */
function meter(dns: Dns): { readonly dns: Dns; ttlS(): number } {
  let shortest = MAX_TTL_S
  const noted = async <T>(asked: Promise<Records<T>>): Promise<Records<T>> => {
    const found = await asked
    if (found.length > 0) shortest = Math.min(shortest, found.ttlS ?? DEFAULT_TTL_S)
    return found
  }
  return {
    dns: {
      naptr: (name) => noted(dns.naptr(name)),
      srv: (name) => noted(dns.srv(name)),
      addresses: (name) => noted(dns.addresses(name)),
      close: () => {},
    },
    ttlS: () => shortest,
  }
}
