import { lookup as systemLookup } from 'node:dns/promises'
import { BlockList, isIP, type LookupFunction } from 'node:net'
import { EngineError, errorText } from './errors.js'

/*
 * Which addresses a customer may have us connect to. Here, and not with the rest of the rules for
 * targets, because a media worker connects to customers' bots by itself.
 */

/** An address a name resolves to. */
export interface ResolvedAddress {
  readonly address: string
  readonly family: 4 | 6
}

/** All addresses of a name; rejects when there are none. */
export type Resolver = (hostname: string) => Promise<readonly ResolvedAddress[]>

/** IANA special-purpose registries for IPv4 and IPv6, plus multicast: nothing a customer may name. */
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

/** Only 2000::/3 is global unicast at all; these parts of it are not. */
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

/** Whether an address literal (no brackets, no zone) is public unicast. */
export function isPublicAddress(address: string): boolean {
  switch (isIP(address)) {
    case 4:
      return !blocked.check(address, 'ipv4')
    case 6:
      // Also refuses IPv4-mapped, NAT64, unique local, link-local and multicast addresses.
      return global6.check(address, 'ipv6') && !blocked.check(address, 'ipv6')
    default:
      return false
  }
}

/** Names looked up so that they can be connected to. */
export interface SafeResolver {
  /**
   * The addresses of a name, all allowed: one private one among them condemns the name. Rejects with
   * EngineError `egress_refused`.
   */
  addresses(hostname: string): Promise<readonly ResolvedAddress[]>
  /**
   * For `net.connect`, `tls.connect` and WebSocket clients, which connect to exactly the address that
   * was looked at. A socket to a literal address never asks a lookup: look at those before.
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
