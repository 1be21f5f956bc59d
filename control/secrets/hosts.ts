import { isIP } from 'node:net'

/**
 * Parses a host that a secret may be sent to: a name, an address, or `*.` and a name with at least two labels.
 * Returns its form in URLs, or null if it is none of these.
 */
export function parseHost(text: string): string | null {
  const wildcard = text.startsWith('*.')
  const name = wildcard ? text.slice(2) : text
  const literal = isIP(name) === 6 ? `[${name}]` : name
  if (/[\s/\\@?#%*]/.test(name) || (literal.includes(':') && !literal.startsWith('['))) return null
  const url = `https://${literal}/`
  if (!URL.canParse(url)) return null
  const { hostname, port, pathname } = new URL(url)
  const host = withoutDot(hostname)
  if (host === '' || port !== '' || pathname !== '/') return null
  if (!wildcard) return host
  return host.includes('.') && isIP(host) === 0 ? `*.${host}` : null
}

/** Returns the host of a valid URL in the same form. */
export function hostOf(url: string): string {
  return withoutDot(new URL(url).hostname.toLowerCase())
}

/** Returns true if one of the hosts of a secret is the host. `*.` stands for one or more labels. */
export function coversHost(hosts: readonly string[], host: string): boolean {
  return hosts.some((one) => (one.startsWith('*.') ? host.endsWith(one.slice(1)) : one === host))
}

/** `example.com.` names the same host as `example.com`. */
function withoutDot(host: string): string {
  return host.replace(/\.$/, '')
}
