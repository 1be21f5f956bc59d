/**
 * Returns true if a valid URL is below the base URL of a connection: the same origin, and the same path or one
 * below it.
 */
export function isBelow(url: string, baseUrl: string): boolean {
  const [target, base] = [new URL(url), new URL(baseUrl)]
  if (target.origin !== base.origin) return false
  const prefix = base.pathname.replace(/\/{1,16}$/, '')
  const { pathname } = target
  if (pathname !== prefix && !pathname.startsWith(`${prefix}/`)) return false
  // A server may decode `%2f` and leave the prefix.
  const rest = pathname
    .slice(prefix.length)
    .replace(/%2f|%5c/gi, '/')
    .replace(/%2e/gi, '.')
  return !rest.split('/').includes('..')
}
