import { cleanText } from '../../media/base/foreign-text.js'
import { parseAddress, parseAddresses, userOfUri } from '../embedded/message/name-addr.js'

/** Characters of an E.164 number, an extension or a service name that need no escape (RFC 3261 `user`). */
const PLAIN_USER = /^[\w.+*!~'()-]{1,64}$/

export interface SipUriParts {
  readonly user: string
  readonly host: string
  /** 0 omits the port. */
  readonly port: number
  readonly transport: 'udp' | 'tcp' | 'tls'
}

/** Returns `sip:user@host:port`, with `;transport=` unless it is UDP. Escapes the user part. */
export function sipUri({ user, host, port, transport }: SipUriParts): string {
  const escaped = PLAIN_USER.test(user) ? user : encodeURIComponent(user)
  const where = host.includes(':') ? `[${host}]` : host
  const hostPort = port === 0 ? where : `${where}:${port}`
  return `sip:${escaped}@${hostPort}${transport === 'udp' ? '' : `;transport=${transport}`}`
}

/** Returns the user part of a SIP, SIPS or tel URI, unescaped; '' when there is none. Never throws. */
export function userOf(uri: string): string {
  const user = userOfUri(uri)
  try {
    // An escape may stand for a NUL character.
    return cleanText(decodeURIComponent(user))
  } catch {
    return user
  }
}

/**
 * Returns the user parts of the addresses in a header value, in order, unescaped. Addresses without a user and malformed
 * ones are left out. Display names are never taken for addresses.
 */
export function usersIn(value: string | null): readonly string[] {
  return value === null
    ? []
    : parseAddresses(value)
        .map(({ uri }) => userOf(uri))
        .filter((user) => user !== '')
}

/**
 * Returns the user part of the only address in a header value (From, To, Refer-To); '' when there is no address, or
 * several.
 */
export function onlyUserIn(value: string | null): string {
  const address = value === null ? null : parseAddress(value)
  return address === null ? '' : userOf(address.uri)
}
