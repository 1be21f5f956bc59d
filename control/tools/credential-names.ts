import type { HttpToolAuth } from '../../media/agent/agent-spec.js'

/** Token of RFC 9110 5.6.2, the syntax of a header name. */
export const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/

/**
 * Headers that describe the connection or the body, which the service sets itself (RFC 9110 7.2, 7.6.1; RFC
 * 9112 6).
 */
const CONNECTION_HEADERS = new Set([
  'connection',
  'content-length',
  'expect',
  'host',
  'keep-alive',
  'proxy-authorization',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

/** Returns why a tool cannot set a header, for the `reason` of a validation issue, or null. */
export function headerNameProblem(name: string): string | null {
  if (!HEADER_NAME.test(name)) return 'is not a header name'
  return CONNECTION_HEADERS.has(name.toLowerCase()) ? 'is set by the service' : null
}

/** Returns the configured names of headers for credentials and their fields of `auth`. */
export function credentialHeaders(
  auth: HttpToolAuth | null,
): readonly { readonly field: string; readonly name: string }[] {
  if (auth === null) return []
  const { type, header, name, secondary } = auth
  const found: { readonly field: string; readonly name: string }[] = []
  if (type === 'bearer' && header !== null) found.push({ field: 'header', name: header })
  if (type === 'api_key' && auth.in !== 'query' && name !== null) found.push({ field: 'name', name })
  if (secondary?.in === 'header') found.push({ field: 'secondary.name', name: secondary.name })
  return found
}

/** Returns the names of query parameters for credentials. */
export function credentialParameters(auth: HttpToolAuth | null): readonly string[] {
  if (auth === null) return []
  const { type, name, secondary } = auth
  return [
    ...(type === 'api_key' && auth.in === 'query' && name !== null ? [name] : []),
    ...(secondary?.in === 'query' ? [secondary.name] : []),
  ]
}
