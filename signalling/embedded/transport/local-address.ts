import { isIP } from 'node:net'
import { networkInterfaces } from 'node:os'

export function isWildcard(address: string): boolean {
  return address === '0.0.0.0' || address === '::'
}

/** Returns the addresses of the machine for a family, loopback last. */
export function interfaceAddresses(family: 4 | 6): readonly string[] {
  const outside: string[] = []
  const loopback: string[] = []
  for (const list of Object.values(networkInterfaces())) {
    for (const entry of list ?? []) {
      if ((entry.family === 'IPv6') !== (family === 6) || entry.address.startsWith('fe80')) continue
      if (entry.internal) loopback.push(entry.address)
      else outside.push(entry.address)
    }
  }
  return [...outside, ...loopback]
}

/**
 * Returns how well a local address suits a peer: the number of leading address parts in common. A loopback
 * address suits loopback peers only.
 */
export function affinity(local: string, peer: string): number {
  if (isLoopback(local) !== isLoopback(peer)) return isLoopback(local) ? -2 : -1
  const separator = isIP(local) === 6 ? ':' : '.'
  const a = local.split(separator)
  const b = peer.split(separator)
  let common = 0
  while (common < a.length && a[common] === b[common]) common += 1
  return common
}

/** Returns the local address to show to a peer when bound to a wildcard. */
export function bestAddress(candidates: readonly string[], peer: string): string | null {
  let best: string | null = null
  let bestScore = Number.NEGATIVE_INFINITY
  for (const candidate of candidates) {
    const score = candidate === peer ? 99 : affinity(candidate, peer)
    if (score > bestScore) {
      best = candidate
      bestScore = score
    }
  }
  return best
}

export function isLoopback(address: string): boolean {
  return address.startsWith('127.') || address === '::1'
}

/** Returns whether an address is one of this machine: loopback or of an interface. */
export function isThisMachine(address: string): boolean {
  const family = isIP(address)
  if (family === 0) return false
  return isLoopback(address) || interfaceAddresses(family === 6 ? 6 : 4).includes(address)
}

/** Returns whether an IPv4 address is private (RFC 1918). */
export function isPrivate(address: string): boolean {
  if (isIP(address) !== 4) return false
  const [a, b] = address.split('.').map(Number)
  return a === 10 || (a === 192 && b === 168) || (a === 172 && b !== undefined && b >= 16 && b <= 31)
}
