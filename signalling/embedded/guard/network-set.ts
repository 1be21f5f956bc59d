import { addressKey, parseCidr } from '../../trunk/cidr.js'

/**
 * A set of networks of both families, queried for every new request: sorted, merged, binary search. Node's
 * `BlockList` scans its rules one by one, about 1.3 ms per query with 20,000 networks.
 */
export interface NetworkSet {
  /** Number of disjoint ranges after merging. */
  readonly size: number
  has(address: string): boolean
}

/** Builds a set of addresses and networks (`203.0.113.7`, `2001:db8::/48`). Other text is ignored. */
export function networkSet(texts: readonly string[]): NetworkSet {
  const ranges = texts
    .flatMap((text) => parseCidr(text) ?? [])
    .map(({ first, last }) => ({ first, last }))
    .sort((a, b) => (a.first < b.first ? -1 : a.first > b.first ? 1 : 0))
  const merged: { readonly first: string; last: string }[] = []
  for (const { first, last } of ranges) {
    const before = merged.at(-1)
    if (before === undefined || first > before.last) merged.push({ first, last })
    else if (last > before.last) before.last = last
  }
  return {
    size: merged.length,
    has(address) {
      if (merged.length === 0) return false
      const key = addressKey(address.split('%')[0] ?? '')
      if (key === null) return false
      let low = 0
      let high = merged.length
      while (low < high) {
        const middle = (low + high) >> 1
        if ((merged[middle]?.last ?? '') < key) low = middle + 1
        else high = middle
      }
      return (merged[low]?.first ?? 'g') <= key
    },
  }
}

/** Parses `address/bits`. Returns null for anything else. */
export function parseNetwork(text: string): NetworkSet | null {
  return text.includes('/') && parseCidr(text) !== null ? networkSet([text]) : null
}
