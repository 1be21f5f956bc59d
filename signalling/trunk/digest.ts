import { createHash } from 'node:crypto'

/*
 * HTTP digest as used by SIP: RFC 2617 as profiled by RFC 3261 22, with the algorithms of RFC 7616 and RFC
 * 8760. Grammar and arithmetic only: no state, no clock.
 */

export type DigestAlgorithm = 'MD5' | 'SHA-256'

/** A parsed `WWW-Authenticate` or `Proxy-Authenticate` value, or a client's answer to one. */
export interface DigestFields {
  /** Values are unquoted, names are in lower case. */
  readonly [name: string]: string | undefined
}

/** Input of a response value besides the password. */
export interface DigestInput {
  readonly method: string
  readonly uri: string
  readonly nonce: string
  /** Empty for the old form of RFC 2069, which has no cnonce and no nonce count. */
  readonly qop: 'auth' | 'auth-int' | ''
  readonly nonceCount: string
  readonly cnonce: string
  /** The message body; used with `auth-int` only. */
  readonly body: string
  /** `MD5-sess` and `SHA-256-sess`: the key is bound to the nonces. */
  readonly session: boolean
}

/** Larger than any reasonable header; the rest is ignored. */
const MAX_HEADER = 8192
const MAX_FIELDS = 64

const HASHES = { MD5: 'md5', 'SHA-256': 'sha256' } as const

const hex = (algorithm: DigestAlgorithm, text: string): string =>
  createHash(HASHES[algorithm]).update(text).digest('hex')

/** Returns the key of a user (HA1), which may be stored in place of the password. */
export function digestKey(
  algorithm: DigestAlgorithm,
  username: string,
  realm: string,
  password: string,
): string {
  return hex(algorithm, `${username}:${realm}:${password}`)
}

/** Returns the `response` value that proves knowledge of `key`. */
export function digestResponse(algorithm: DigestAlgorithm, key: string, input: DigestInput): string {
  const a1 = input.session ? hex(algorithm, `${key}:${input.nonce}:${input.cnonce}`) : key
  const what = `${input.method}:${input.uri}`
  const a2 = hex(algorithm, input.qop === 'auth-int' ? `${what}:${hex(algorithm, input.body)}` : what)
  const middle =
    input.qop === '' ? input.nonce : [input.nonce, input.nonceCount, input.cnonce, input.qop].join(':')
  return hex(algorithm, `${a1}:${middle}:${a2}`)
}

/** Returns the algorithm of a field: MD5 when absent (RFC 3261), null when unsupported. */
export function algorithmOf(
  name: string | undefined,
): { algorithm: DigestAlgorithm; session: boolean } | null {
  const match = /^(MD5|SHA-256)(-sess)?$/i.exec(name ?? 'MD5')
  if (match === null) return null
  const algorithm: DigestAlgorithm = match[1]?.toUpperCase() === 'MD5' ? 'MD5' : 'SHA-256'
  return { algorithm, session: match[2] !== undefined }
}

/**
 * Parses all Digest challenges or credentials of a header, in order; skips other schemes. A header that
 * occurred several times may be joined by commas. Malformed parts end the parsing; never throws.
 */
export function parseDigests(header: string): DigestFields[] {
  const found: DigestFields[] = []
  const text = header.slice(0, MAX_HEADER)
  // A scheme is a token followed by a space and a parameter; a parameter is a token followed by `=`.
  const scheme = /\s*([!#$%&'*+.^_`|~\w-]+)\s+(?=[!#$%&'*+.^_`|~\w-]+\s*=)/y
  const field = /\s*([!#$%&'*+.^_`|~\w-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s",;]+))\s*/y
  let at = 0
  while (at < text.length) {
    scheme.lastIndex = at
    const begun = scheme.exec(text)
    if (begun === null) break
    at = scheme.lastIndex
    const fields: Record<string, string> = Object.create(null)
    for (let count = 0; count < MAX_FIELDS; count++) {
      field.lastIndex = at
      const read = field.exec(text)
      if (read === null) break
      at = field.lastIndex
      const name = (read[1] ?? '').toLowerCase()
      // A duplicate field name makes the message untrustworthy.
      if (name in fields) return found
      fields[name] = read[2] === undefined ? (read[3] ?? '') : read[2].replace(/\\(.)/g, '$1')
      if (text[at] !== ',') break
      const next = /,[\s,]*/y
      next.lastIndex = at
      next.exec(text)
      at = next.lastIndex
      scheme.lastIndex = at
      // The next challenge begins here.
      if (scheme.test(text)) break
    }
    if (begun[1]?.toLowerCase() === 'digest' && 'realm' in fields) found.push(fields)
  }
  return found
}

/** Returns a quoted-string; drops characters that cannot be part of a header. */
export function quoted(value: string): string {
  return `"${value.replace(/[\r\n\0]/g, '').replace(/["\\]/g, '\\$&')}"`
}
