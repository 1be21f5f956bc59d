import { getServers, lookup } from 'node:dns'
import type { Answer } from 'dns-packet'
import type { Clock } from '../../../media/base/clock.js'
import { hostsFileAddresses } from '../../../media/base/hosts-file.js'
import { DnsClient, type DnsReply } from './dns-client.js'

export interface SrvRecord {
  readonly name: string
  readonly port: number
  readonly priority: number
  readonly weight: number
}

export interface NaptrRecord {
  readonly order: number
  readonly preference: number
  readonly flags: string
  readonly service: string
  /** The name to query for SRV records. */
  readonly replacement: string
}

/** Records, and how long (s) they may be cached, if the source says so. */
export type Records<T> = readonly T[] & { readonly ttlS?: number }

/** Queries the DNS. A name without such records returns an empty list; failures reject. */
export interface Dns {
  naptr(name: string): Promise<Records<NaptrRecord>>
  srv(name: string): Promise<Records<SrvRecord>>
  /** IPv4 and IPv6 addresses in order of preference. */
  addresses(name: string): Promise<Records<string>>
  close(): void
}

/** Errors of getaddrinfo for a name that does not exist. */
const NONE: ReadonlySet<string> = new Set(['ENODATA', 'ENOTFOUND', 'ENONAME', 'EAI_NODATA'])

/**
 * Returns a resolver that asks the hosts file, the name servers of the machine, and for a name unknown there
 * the system, which may have other sources. With `servers` (`address[:port]`) it only asks those.
 */
export function openDns(servers: readonly string[] = [], clock?: Clock): Dns {
  const client = new DnsClient(servers.length > 0 ? servers : getServers(), clock)
  const queried = (name: string) => queriedAddresses(client, name)
  return {
    naptr: async (name) => recordsOf(await client.query(name, 'NAPTR'), naptrRecord),
    srv: async (name) => recordsOf(await client.query(name, 'SRV'), srvRecord),
    addresses: servers.length > 0 ? queried : (name) => localAddresses(name, queried),
    close: () => client.close(),
  }
}

/** Returns the list with its shortest TTL (s). */
export function withTtl<T>(list: readonly T[], ttlS: number): Records<T> {
  return Object.assign([...list], { ttlS })
}

async function queriedAddresses(client: DnsClient, name: string): Promise<Records<string>> {
  const [four, six] = await Promise.all([
    client.query(name, 'A').then((reply) => recordsOf(reply, ipv4Address)),
    client.query(name, 'AAAA').then((reply) => recordsOf(reply, ipv6Address)),
  ])
  const ttls = [four, six].flatMap(({ ttlS }) => ttlS ?? [])
  return ttls.length === 0 ? [] : withTtl([...four, ...six], Math.min(...ttls))
}

async function localAddresses(
  name: string,
  queried: (name: string) => Promise<Records<string>>,
): Promise<Records<string>> {
  const local = await hostsFileAddresses(name)
  if (local.length > 0) return local
  let records: Records<string>
  try {
    records = await queried(name)
  } catch (error) {
    const others = await systemAddresses(name).catch(() => [])
    if (others.length === 0) throw error
    return others
  }
  return records.length > 0 ? records : systemAddresses(name)
}

function systemAddresses(name: string): Promise<readonly string[]> {
  return new Promise((resolve, reject) => {
    lookup(name, { all: true, verbatim: true }, (error, found) => {
      if (error === null) resolve(found.map((entry) => entry.address))
      else if (NONE.has(error.code ?? '')) resolve([])
      else reject(error)
    })
  })
}

/** Returns the records of a reply with the shortest TTL, which includes that of aliases on the way. */
function recordsOf<T>(reply: DnsReply | null, read: (answer: Answer) => T | null): Records<T> {
  if (reply === null) return []
  const list = reply.answers.flatMap((answer) => read(answer) ?? [])
  return withTtl(list, Math.min(...reply.answers.map(ttlOf)))
}

/** Returns the TTL (s). RFC 2181 8: a TTL with the highest bit set counts as 0. */
function ttlOf(answer: Answer): number {
  const ttl = 'ttl' in answer ? (answer.ttl ?? 0) : 0
  return ttl > 0x7fff_ffff ? 0 : ttl
}

function ipv4Address(answer: Answer): string | null {
  return answer.type === 'A' ? answer.data : null
}

/** Returns the address in the form of RFC 5952, as the sockets of Node report it. */
function ipv6Address(answer: Answer): string | null {
  return answer.type === 'AAAA' ? new URL(`http://[${answer.data}]`).hostname.slice(1, -1) : null
}

function srvRecord(answer: Answer): SrvRecord | null {
  if (answer.type !== 'SRV') return null
  const { target, port, priority = 0, weight = 0 } = answer.data
  return { name: target, port, priority, weight }
}

function naptrRecord(answer: Answer): NaptrRecord | null {
  if (answer.type !== 'NAPTR') return null
  const { order, preference, flags, services, replacement } = answer.data
  return { order, preference, flags, service: services, replacement }
}
