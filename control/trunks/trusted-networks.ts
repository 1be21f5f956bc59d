import { isIP } from 'node:net'
import type { Clock, Timer } from '../../media/base/clock.js'
import { errorText } from '../../media/base/errors.js'
import type { Log } from '../../media/base/log.js'
import { type Dns, openDns } from '../../signalling/embedded/routing/dns.js'
import { LocationCache } from '../../signalling/embedded/routing/location-cache.js'
import type { Target } from '../../signalling/embedded/routing/target.js'
import type { Db } from '../db/database.js'
import { listActiveTrunks } from './store.js'
import { rangesOf } from './trunk-route.js'

export interface TrustedNetworksOptions {
  readonly db: Db
  readonly clock: Clock
  readonly log: Log
  /** The operator's own list, in addition to the trunks. */
  readonly configured: readonly string[]
  /** Told the whole list whenever it has changed. */
  readonly apply: (networks: readonly string[]) => void
  /** Where names of gateways are looked up; closed at the end. */
  readonly dns?: Dns
}

/** A trunk that was made, changed or disabled counts after this at the latest. */
export const TRUNK_POLL_MS = 2_000
/** The addresses behind a name are asked for again that often. */
export const RESOLVE_MS = 60_000
/** Names asked for at once, so that many trunks are no flood of questions. */
const NAMES_AT_ONCE = 64

interface Named {
  /** When it was last asked for, by the monotonic clock. */
  askedAt: number
  /** What it last led to: kept while the DNS fails. */
  addresses: readonly string[]
}

/**
 * Follows the tables: the address lists and the gateways (registrars and probe targets are those too) of
 * active live trunks, by address or by what their names lead to. What comes from there bans nobody.
 */
export function openTrustedNetworks(options: TrustedNetworksOptions): { close(): Promise<void> } {
  const { db, clock, log, configured: further, apply } = options
  const locator = new LocationCache(clock, log, options.dns ?? openDns())
  const names = new Map<string, Named>()
  let timer: Timer | null = null
  let closed = false
  let applied = ''

  const look = async (): Promise<void> => {
    try {
      const networks = new Set(further)
      const wanted = new Map<string, Target>()
      for (const trunk of await listActiveTrunks(db)) {
        for (const { text } of rangesOf(trunk)) networks.add(text)
        const { outboundHost: host, outboundPort: port, outboundTransport: protocol } = trunk
        if (host === null) continue
        if (isIP(host) !== 0) networks.add(host)
        else {
          const target = { host, port: port === 0 ? null : port, protocol, secure: false }
          wanted.set(`${host}|${port}|${protocol}`, target)
        }
      }
      for (const key of [...names.keys()]) if (!wanted.has(key)) names.delete(key)
      // A slow DNS must not keep what is known already from counting.
      tell(networks)
      await resolve(wanted)
      tell(networks)
    } catch (error) {
      if (!closed) log.error({ error: errorText(error) }, 'the networks of the trunks could not be read')
    }
    if (!closed) timer = clock.after(TRUNK_POLL_MS, again)
  }

  /** Once per change. */
  const tell = (networks: ReadonlySet<string>): void => {
    const named = [...names.values()].flatMap(({ addresses }) => addresses)
    const list = [...new Set([...networks, ...named])].sort()
    if (closed || list.join() === applied) return
    applied = list.join()
    apply(list)
    log.info({ networks: list.length }, 'networks of trunks are exempt from SIP bans')
  }

  const resolve = async (wanted: ReadonlyMap<string, Target>): Promise<void> => {
    const due = [...wanted].filter(([key]) => {
      const known = names.get(key)
      return known === undefined || clock.now() - known.askedAt >= RESOLVE_MS
    })
    await Promise.all(
      due.slice(0, NAMES_AT_ONCE).map(async ([key, target]) => {
        const found = await addressesOf(target)
        const before = names.get(key)?.addresses ?? []
        names.set(key, { askedAt: clock.now(), addresses: found.length > 0 ? found : before })
      }),
    )
  }

  const addressesOf = (target: Target): Promise<readonly string[]> =>
    new Promise((done) => {
      if (closed) done([])
      const protocols = new Set(target.protocol === null ? [] : [target.protocol])
      pending.add(done)
      locator.find(target, protocols, ({ addresses: places }) => {
        pending.delete(done)
        done(places.map(({ address }) => address))
      })
    })

  /** The locator drops what is asked when it closes. */
  const pending = new Set<(addresses: readonly string[]) => void>()
  let looking = Promise.resolve()
  const again = (): void => {
    looking = look()
  }
  again()
  return {
    async close() {
      closed = true
      timer?.cancel()
      locator.close()
      for (const done of pending) done([])
      await looking
    },
  }
}
