import { isIP } from 'node:net'
import type { Clock, Timer } from '../../media/base/clock.js'
import { errorText } from '../../media/base/errors.js'
import type { Log } from '../../media/base/log.js'
import { type Dns, openDns } from '../../signalling/embedded/routing/dns.js'
import { LocationCache } from '../../signalling/embedded/routing/location-cache.js'
import type { Target } from '../../signalling/embedded/routing/target.js'
import { jittered } from '../base/jitter.js'
import type { Db } from '../db/database.js'
import { listActiveTrunks } from './store.js'
import { claimedOf, isCustomers } from './trunk-route.js'

export interface TrustedNetworksOptions {
  readonly db: Db
  readonly clock: Clock
  readonly log: Log
  /** Networks configured by the operator, in addition to those of the trunks. */
  readonly configured: readonly string[]
  /** Called with the complete list after every change. */
  readonly apply: (networks: readonly string[]) => void
  /** DNS client for the names of gateways. Closed with this object. */
  readonly dns?: Dns
}

/** Longest time between two polls (ms): changes of trunks take effect within it. */
export const TRUNK_POLL_MS = 2_000
/** Interval at which names are resolved again (ms). */
export const RESOLVE_MS = 60_000
/** Maximum concurrent DNS lookups. */
const NAMES_AT_ONCE = 64

interface Named {
  /** Monotonic time of the last lookup (ms). */
  askedAt: number
  /** Addresses of the last successful lookup, kept while DNS fails. */
  addresses: readonly string[]
}

/**
 * Follows the claimed addresses of active live trunks, and the gateways of the trunk file by address or resolved name.
 * Sources in these networks are never banned.
 */
export function openTrustedNetworks(options: TrustedNetworksOptions): { close(): Promise<void> } {
  const { db, clock, log, configured: further, apply } = options
  const locator = new LocationCache(clock, log, options.dns ?? openDns())
  const names = new Map<string, Named>()
  let timer: Timer | null = null
  let closed = false
  let applied = ''

  const poll = async (): Promise<void> => {
    try {
      const networks = new Set(further)
      const wanted = new Map<string, Target>()
      for (const trunk of await listActiveTrunks(db)) {
        for (const { text } of claimedOf(trunk)) networks.add(text)
        const { outboundHost: host, outboundPort: port, outboundTransport: protocol } = trunk
        // Customers can change their host at any time, so that it is no reason to trust an address.
        if (host === null || isCustomers(trunk)) continue
        if (isIP(host) !== 0) networks.add(host)
        else {
          const target = {
            host,
            port: port === 0 ? null : port,
            protocol,
            secure: false,
            publicOnly: false,
            flow: null,
          }
          wanted.set(`${host}|${port}|${protocol}`, target)
        }
      }
      for (const key of [...names.keys()]) if (!wanted.has(key)) names.delete(key)
      // Known networks apply before the names are resolved, because DNS may be slow.
      applyIfChanged(networks)
      await resolve(wanted)
      applyIfChanged(networks)
    } catch (error) {
      if (!closed) log.error({ error: errorText(error) }, 'trusted_networks.read_failed')
    }
    if (!closed) timer = clock.after(jittered(TRUNK_POLL_MS), startPoll)
  }

  /** Calls `apply` if the list changed. */
  const applyIfChanged = (networks: ReadonlySet<string>): void => {
    const named = [...names.values()].flatMap(({ addresses }) => addresses)
    const list = [...new Set([...networks, ...named])].sort()
    if (closed || list.join() === applied) return
    applied = list.join()
    apply(list)
    log.info({ networks: list.length }, 'trusted_networks.changed')
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

  /** Pending lookups. The locator drops them when it closes. */
  const pending = new Set<(addresses: readonly string[]) => void>()
  let polling = Promise.resolve()
  const startPoll = (): void => {
    polling = poll()
  }
  startPoll()
  return {
    async close() {
      closed = true
      timer?.cancel()
      locator.close()
      for (const done of pending) done([])
      await polling
    },
  }
}
