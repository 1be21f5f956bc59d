import { BlockList, isIP } from 'node:net'
import { isPublicAddress } from '../../../media/base/public-address.js'
import { isThisMachine } from '../transport/local-address.js'

/*
 * Addresses that a SIP peer names in SDP, Contact and Record-Route are where media and requests go. Without limits a
 * caller could send both to hosts inside the operator's network.
 */

/** This network, loopback, link-local with the cloud's metadata, multicast, reserved and broadcast. */
const NEVER_4 = ['0.0.0.0/8', '127.0.0.0/8', '169.254.0.0/16', '224.0.0.0/4', '240.0.0.0/4']
/** Unspecified and loopback, IPv4-mapped, link-local, multicast. */
const NEVER_6 = ['::/127', '::ffff:0:0/96', 'fe80::/10', 'ff00::/8']

// One list for each family: in a common list, `::ffff:0:0/96` would cover every IPv4 address.
const never = { 4: blockListOf(NEVER_4, 'ipv4'), 6: blockListOf(NEVER_6, 'ipv6') }

function blockListOf(ranges: readonly string[], family: 'ipv4' | 'ipv6'): BlockList {
  const list = new BlockList()
  for (const range of ranges) {
    const [network = '', prefix] = range.split('/')
    list.addSubnet(network, Number(prefix), family)
  }
  return list
}

/**
 * Returns the address to use for a literal address that a SIP peer names: the address itself; the address of the
 * peer when it is outside and names a private one, as behind a NAT; or null for an address that no peer may name.
 * A peer on this machine may name any address.
 */
export function namedAddress(address: string, peer: string): string | null {
  const source = peer.replace(/^\[|\]$/g, '').replace(/^::ffff:(?=\d+\.)/i, '')
  if (isThisMachine(source)) return address
  const family = isIP(address)
  if (family === 0) return null
  if (family === 4 ? never[4].check(address, 'ipv4') : never[6].check(address, 'ipv6')) return null
  if (isPublicAddress(address)) return address
  if (isIP(source) === 0) return null
  return isPublicAddress(source) ? source : address
}

/** Returns whether a SIP peer may name this literal address. */
export function mayName(address: string, peer: string): boolean {
  return namedAddress(address, peer) === address
}
