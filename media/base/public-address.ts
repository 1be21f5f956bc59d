import { BlockList, isIP, type LookupFunction } from 'node:net'
import { networkInterfaces } from 'node:os'
import { EngineError, errorText } from './errors.js'
import { NameResolver, type ResolvedAddress } from './name-resolver.js'

/*
 * Rules for the addresses that customers may make Parley connect to. Media workers connect to customers' bots
 * on their own, so these rules are part of the media code.
 */

/** Resolves all addresses of a host name for an organization. Rejects when there are none. */
export type Resolver = (hostname: string, owner: string) => Promise<readonly ResolvedAddress[]>

/** Special-purpose IPv4 registries of IANA, and multicast. Customers must not name any of them. */
const IPV4 = [
  '0.0.0.0/8', // this network
  '10.0.0.0/8',
  '100.64.0.0/10', // carrier-grade NAT
  '127.0.0.0/8',
  '168.63.129.16/32', // the host of an Azure virtual machine
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
blockInterfaces(networkInterfaces())

/**
 * Refuses the addresses of this machine, public ones included: a firewall before the machine does not see what
 * the machine sends to itself.
 */
export function blockInterfaces(interfaces: ReturnType<typeof networkInterfaces>): void {
  for (const { address, family } of Object.values(interfaces).flatMap((list) => list ?? [])) {
    blocked.addAddress(address, family === 'IPv6' ? 'ipv6' : 'ipv4')
  }
}

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
   * Resolves a host name for an organization (`owner`). A single private address refuses the whole name. Rejects
   * with EngineError `egress_refused`, or as `NameResolver.resolve` does.
   */
  addresses(hostname: string, owner: string): Promise<readonly ResolvedAddress[]>
  /**
   * Returns a lookup for `net.connect`, `tls.connect` and WebSocket clients, which then connect to exactly the
   * checked address. Sockets skip the lookup for literal addresses: check those first.
   */
  lookupOf(owner: string): LookupFunction
  close(): void
}

/** @param resolve replaces the DNS. */
export function openSafeResolver(allowPrivate: boolean, resolve?: Resolver): SafeResolver {
  const names = new NameResolver({ useSystem: allowPrivate })
  const find: Resolver = resolve ?? ((hostname, owner) => names.resolve(hostname, owner))
  async function addresses(hostname: string, owner: string): Promise<readonly ResolvedAddress[]> {
    const found = await find(hostname, owner)
    if (found.length === 0) throw refused('does not resolve')
    if (!allowPrivate && !found.every(({ address }) => isPublicAddress(address))) {
      throw refused('resolves to an address that is not public')
    }
    return found
  }
  const lookupOf = (owner: string): LookupFunction => {
    return (hostname, options, callback) => {
      addresses(hostname, owner).then(
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
  }
  return { addresses, lookupOf, close: () => names.close() }
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
