import { lookup as systemLookup } from 'node:dns/promises'
import { BlockList, isIP, type LookupFunction } from 'node:net'
import { EngineError, errorText } from './errors.js'

/*
 * Rules for the addresses that customers may make Parley connect to. Media workers connect to customers' bots
 * on their own, so these rules are part of the media code.
 */

/** An address of a host name. */
export interface ResolvedAddress {
  readonly address: string
  readonly family: 4 | 6
}

/** Resolves all addresses of a host name. Rejects when there are none. */
export type Resolver = (hostname: string) => Promise<readonly ResolvedAddress[]>

/** Special-purpose IPv4 registries of IANA, and multicast. Customers must not name any of them. */
const IPV4 = [
  '0.0.0.0/8', // this network
  '10.0.0.0/8',
  '100.64.0.0/10', // carrier-grade NAT
  '127.0.0.0/8',
  '169.254.0.0/16', // link-local, cloud metadata
  '172.16.0.0/12',
  '192.0.0.0/24', // protocol assignments
  '192.0.2.0/24', // documentation
  '192.31.196.0/24', // AS112
  '192.52.193.0/24', // AMT
  '192.88.99.0/24', // 6to4 relays
  '192.168.0.0/16',
  '192.175.48.0/24', // AS112
  '198.18.0.0/15', // benchmarking
  '198.51.100.0/24', // documentation
  '203.0.113.0/24', // documentation
  '224.0.0.0/4', // multicast
  '240.0.0.0/4', // reserved and broadcast
]

/** Only 2000::/3 is global unicast, except for these parts of it. */
const IPV6 = [
  '2001::/23', // protocol assignments: Teredo, ORCHID, benchmarking
  '2001:db8::/32', // documentation
  '2002::/16', // 6to4 embeds IPv4 addresses
  '2620:4f:8000::/48', // AS112
  '3fff::/20', // documentation
]

const blocked = new BlockList()
const global6 = new BlockList()
for (const range of IPV4) addRange(blocked, range, 'ipv4')
for (const range of IPV6) addRange(blocked, range, 'ipv6')
addRange(global6, '2000::/3', 'ipv6')

/** Returns true when an address literal (without brackets or zone) is public unicast. */
export function isPublicAddress(address: string): boolean {
  switch (isIP(address)) {
    case 4:
      return !blocked.check(address, 'ipv4')
    case 6:
      // This also refuses IPv4-mapped, NAT64, unique local, link-local and multicast addresses.
      return global6.check(address, 'ipv6') && !blocked.check(address, 'ipv6')
    default:
      return false
  }
}

/** Resolves host names to addresses that may be connected to. */
export interface SafeResolver {
  /**
   * Resolves a host name. A single private address refuses the whole name. Rejects with EngineError
   * `egress_refused`.
   */
  addresses(hostname: string): Promise<readonly ResolvedAddress[]>
  /**
   * A lookup for `net.connect`, `tls.connect` and WebSocket clients, which then connect to exactly the
   * checked address. Sockets skip the lookup for literal addresses: check those first.
   */
  readonly lookup: LookupFunction
}

export function openSafeResolver(allowPrivate: boolean, resolve: Resolver = resolveAll): SafeResolver {
  async function addresses(hostname: string): Promise<readonly ResolvedAddress[]> {
    const found = await resolve(hostname)
    if (found.length === 0) throw refused('does not resolve')
    if (!allowPrivate && !found.every(({ address }) => isPublicAddress(address))) {
      throw refused('resolves to an address that is not public')
    }
    return found
  }
  const lookup: LookupFunction = (hostname, options, callback) => {
    addresses(hostname).then(
      (found) => {
        const wanted = familyOf(options.family)
        const usable = wanted === 0 ? found : found.filter(({ family }) => family === wanted)
        const [first] = usable
        if (first === undefined) callback(refused('has no address of that family'), '', 0)
        else if (options.all) callback(null, [...usable])
        else callback(null, first.address, first.family)
      },
      (error: unknown) => callback(error instanceof Error ? error : new Error(errorText(error)), '', 0),
    )
  }
  return { addresses, lookup }
}

async function resolveAll(hostname: string): Promise<readonly ResolvedAddress[]> {
  const found = await systemLookup(hostname, { all: true, verbatim: true })
  return found.map(({ address, family }) => ({ address, family: family === 6 ? 6 : 4 }))
}

function familyOf(family: number | 'IPv4' | 'IPv6' | undefined): number {
  if (family === 'IPv4') return 4
  if (family === 'IPv6') return 6
  return family ?? 0
}

function refused(reason: string): EngineError {
  return new EngineError('egress_refused', reason)
}

function addRange(list: BlockList, range: string, family: 'ipv4' | 'ipv6'): void {
  const [network, prefix] = range.split('/')
  list.addSubnet(network ?? '', Number(prefix), family)
}
