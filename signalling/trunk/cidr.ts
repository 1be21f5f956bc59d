import { isIP } from 'node:net'

/**
 * A range of addresses in canonical form. Trunks store `first` and `last` in the database and query them as
 * text, which node:net's BlockList cannot do.
 */
export interface Cidr {
  readonly family: 4 | 6
  /** Network address with host bits zero and its length: `203.0.113.0/24`, `203.0.113.7/32`. */
  readonly text: string
  /** Prefix length (bits), counted in the address family's own width. */
  readonly prefix: number
  /** First and last address as returned by `addressKey`: their text order is the address order. */
  readonly first: string
  readonly last: string
}

const V4_MAPPED = 0xffffn << 32n
const WIDTH = { 4: 32, 6: 128 } as const

/**
 * Returns an address as 32 hexadecimal digits, IPv4 mapped into IPv6 (`::ffff:0:0/96`), so that both families
 * share one order and a mapped address equals its IPv4 address. Removes brackets. Returns null for anything
 * else, and for addresses with a zone.
 */
export function addressKey(address: string): string | null {
  const value = addressValue(address.replace(/^\[(.*)\]$/, '$1'))
  return value === null ? null : keyOf(value)
}

/**
 * Parses `203.0.113.7`, `203.0.113.0/24` or `2001:db8::/48` and clears the host bits. Returns null for
 * anything else.
 */
export function parseCidr(text: string): Cidr | null {
  const [address = '', bits, more] = text.trim().split('/')
  const version = isIP(address)
  if (version === 0 || more !== undefined || (bits !== undefined && !/^\d{1,3}$/.test(bits))) return null
  const value = addressValue(address)
  if (value === null) return null
  // A mapped address is an IPv4 address whose prefix counts from the whole of IPv6.
  const mapped = value >> 32n === 0xffffn
  const family = mapped ? 4 : 6
  const width = WIDTH[family]
  const given = bits === undefined ? WIDTH[version === 4 ? 4 : 6] : Number(bits)
  const prefix = version === 6 && mapped ? given - 96 : given
  if (prefix < 0 || prefix > width) return null
  const hosts = (1n << BigInt(width - prefix)) - 1n
  const first = value & ~hosts
  const network = family === 4 ? dotted(first) : compressed(first)
  return {
    family,
    prefix,
    text: `${network}/${prefix}`,
    first: keyOf(first),
    last: keyOf(first | hosts),
  }
}

/** Returns the longest prefix among `ranges` that covers the address; null when none does. */
export function coveringPrefix(ranges: readonly Cidr[], address: string): number | null {
  const key = addressKey(address)
  if (key === null) return null
  let longest: number | null = null
  for (const { first, last, prefix } of ranges) {
    if (first <= key && key <= last && prefix > (longest ?? -1)) longest = prefix
  }
  return longest
}

function keyOf(value: bigint): string {
  return value.toString(16).padStart(32, '0')
}

function addressValue(address: string): bigint | null {
  switch (isIP(address)) {
    case 4:
      return V4_MAPPED | BigInt(dottedValue(address))
    case 6: {
      if (address.includes('%')) return null
      // A dotted tail stands for the last two groups.
      const plain = address.replace(/(\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3})$/, (tail) => {
        const value = dottedValue(tail)
        return `${(value >>> 16).toString(16)}:${(value & 0xffff).toString(16)}`
      })
      const [head = '', tail] = plain.split('::')
      const groups = (text: string) => (text === '' ? [] : text.split(':'))
      const left = groups(head)
      const right = tail === undefined ? [] : groups(tail)
      const zeros = Array.from({ length: 8 - left.length - right.length }, () => '0')
      return [...left, ...zeros, ...right].reduce((sum, group) => (sum << 16n) | BigInt(`0x${group}`), 0n)
    }
    default:
      return null
  }
}

function dottedValue(address: string): number {
  return address.split('.').reduce((sum, part) => sum * 256 + Number(part), 0)
}

function dotted(value: bigint): string {
  const low = Number(value & 0xffff_ffffn)
  return [24, 16, 8, 0].map((shift) => (low >>> shift) & 0xff).join('.')
}

/** Returns the form of RFC 5952, which the URL parser writes. */
function compressed(value: bigint): string {
  const groups = keyOf(value).match(/.{4}/g) ?? []
  return new URL(`http://[${groups.join(':')}]`).hostname.slice(1, -1)
}
