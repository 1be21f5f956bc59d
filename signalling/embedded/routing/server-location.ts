import { defaultPort, isSecure, type Protocol } from '../transport/transport.js'
import type { Dns, NaptrRecord } from './dns.js'
import type { Target } from './target.js'

/** A server address of a target (RFC 3263). */
export interface ServerAddress {
  readonly protocol: Protocol
  readonly address: string
  readonly port: number
}

/** The result of the DNS for a target: services in order of preference, and the servers of each. */
export interface ServerLocation {
  /** True if SRV records were found: a 503 then moves on to the next server (4.3). */
  readonly fromSrv: boolean
  readonly services: readonly {
    readonly protocol: Protocol
    readonly servers: readonly Server[]
  }[]
}

interface Server {
  readonly priority: number
  readonly weight: number
  readonly port: number
  readonly addresses: readonly string[]
}

export const NO_LOCATION: ServerLocation = { fromSrv: false, services: [] }

/** Returns the server addresses for one request, best first; SRV weights are drawn anew each time. */
export function serverAddresses(located: ServerLocation, random: () => number): readonly ServerAddress[] {
  return located.services.flatMap(({ protocol, servers }) =>
    orderSrv(servers, random).flatMap(({ port, addresses }) =>
      addresses.map((address) => ({ protocol, address, port })),
    ),
  )
}

/** Maximum number of records used per name. */
const MAX_RECORDS = 16

/** NAPTR services (RFC 3263 4.1, RFC 7118 8.3). */
const SERVICES: ReadonlyMap<string, Protocol> = new Map([
  ['SIP+D2U', 'udp'],
  ['SIP+D2T', 'tcp'],
  ['SIPS+D2T', 'tls'],
  ['SIP+D2W', 'ws'],
  ['SIPS+D2W', 'wss'],
])

/** SRV names of a domain (RFC 3263 4.1), in the order they are tried without NAPTR records. */
const SRV_PREFIX: readonly { readonly protocol: Protocol; readonly prefix: string }[] = [
  { protocol: 'udp', prefix: '_sip._udp.' },
  { protocol: 'tcp', prefix: '_sip._tcp.' },
  { protocol: 'tls', prefix: '_sips._tcp.' },
]

/**
 * Finds transport, port and addresses of a host name (RFC 3263 4). `supported` are the protocols of this
 * server. Rejects when the DNS cannot be queried. A name without an address returns no services.
 */
export async function locateServers(
  target: Target,
  supported: ReadonlySet<Protocol>,
  dns: Dns,
): Promise<ServerLocation> {
  const usable = (protocol: Protocol) =>
    supported.has(protocol) &&
    (!target.secure || isSecure(protocol)) &&
    (target.protocol === null || target.protocol === protocol)
  if (target.port === null) {
    const named = await servicesOf(target, usable, dns)
    const found = await Promise.all(
      named.map(async ({ protocol, name }) => ({ protocol, servers: await serversOf(name, dns) })),
    )
    const services = found.filter(({ servers }) => servers.length > 0)
    if (services.length > 0) return { fromSrv: true, services }
  }
  const protocol = defaultProtocol(target, usable)
  const addresses = await dns.addresses(target.host)
  if (addresses.length === 0) return NO_LOCATION
  const port = target.port ?? defaultPort(protocol)
  return { fromSrv: false, services: [{ protocol, servers: [{ priority: 0, weight: 0, port, addresses }] }] }
}

/**
 * Returns the protocol when neither URI nor DNS names one: UDP, TLS for SIPS, else the first supported one.
 */
export function defaultProtocol(target: Target, usable: (protocol: Protocol) => boolean): Protocol {
  const first = target.protocol ?? (target.secure ? 'tls' : 'udp')
  return usable(first) ? first : (SRV_PREFIX.find(({ protocol }) => usable(protocol))?.protocol ?? first)
}

interface Service {
  readonly protocol: Protocol
  readonly name: string
}

/**
 * Returns the names to query for SRV records: from NAPTR unless the URI fixes the transport, else the usual
 * ones.
 */
async function servicesOf(
  target: Target,
  usable: (protocol: Protocol) => boolean,
  dns: Dns,
): Promise<readonly Service[]> {
  if (target.protocol === null) {
    const named = pickServices(await dns.naptr(target.host), usable)
    if (named.length > 0) return named
  }
  return SRV_PREFIX.filter(({ protocol }) => usable(protocol)).map(({ protocol, prefix }) => ({
    protocol,
    name: `${prefix}${target.host}`,
  }))
}

/** Returns the supported services of a domain, in the order of the domain (RFC 3263 4.1). */
function pickServices(
  records: readonly NaptrRecord[],
  usable: (protocol: Protocol) => boolean,
): readonly Service[] {
  const sorted = [...records].sort((a, b) => a.order - b.order || a.preference - b.preference)
  return sorted.slice(0, MAX_RECORDS).flatMap((record) => {
    const protocol = SERVICES.get(record.service.toUpperCase())
    const terminal = record.flags.toLowerCase() === 's' && record.replacement !== ''
    return protocol !== undefined && terminal && usable(protocol)
      ? [{ protocol, name: record.replacement }]
      : []
  })
}

/**
 * Returns the servers of SRV records. A target of `.` means that the service does not exist. Nothing can be
 * sent to port 0, so such records are left out.
 */
async function serversOf(name: string, dns: Dns): Promise<readonly Server[]> {
  const usable = (await dns.srv(name)).filter((record) => record.port > 0)
  const records = usable.sort((a, b) => a.priority - b.priority).slice(0, MAX_RECORDS)
  const found = await Promise.all(
    records.map(async ({ name: host, port, priority, weight }) => {
      const addresses = host === '' || host === '.' ? [] : await dns.addresses(host)
      return { priority, weight, port, addresses }
    }),
  )
  return found.filter(({ addresses }) => addresses.length > 0)
}

interface Weighted {
  readonly priority: number
  readonly weight: number
}

/**
 * Orders SRV records (RFC 2782): by priority, and within a priority at random in proportion to the weights.
 * Records of weight 0 have the smallest chance. `random` returns values in [0, 1).
 */
export function orderSrv<T extends Weighted>(records: readonly T[], random: () => number): readonly T[] {
  const ordered: T[] = []
  const priorities = [...new Set(records.map((record) => record.priority))].sort((a, b) => a - b)
  for (const priority of priorities) {
    const left = records.filter((record) => record.priority === priority)
    left.sort((a, b) => Number(a.weight > 0) - Number(b.weight > 0))
    while (left.length > 0) {
      const total = left.reduce((sum, record) => sum + record.weight, 0)
      const drawn = random() * total
      let sum = 0
      const found = left.findIndex((record) => {
        sum += record.weight
        return sum >= drawn
      })
      ordered.push(...left.splice(Math.max(found, 0), 1))
    }
  }
  return ordered
}
