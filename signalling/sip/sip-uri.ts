import { cleanText } from '../../media/base/foreign-text.js'

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

/**
 * Returns the user part of a SIP or tel URI, bare or inside a From/To header value; '' when there is none.
 * Never throws, whatever the peer sent.
 */
export function uriUser(value: string): string {
  const bracketed = /<([^>]*)>/.exec(value)
  const uri = (bracketed?.[1] ?? value).trim()
  const tel = /^tel:([^;?]*)/i.exec(uri)
  if (tel) return tel[1] ?? ''
  const match = /^sips?:([^@]*)@/i.exec(uri)
  if (!match) return ''
  // A password and parameters of a telephone-subscriber (`+91...;phone-context=...`) do not belong to the
  // number.
  const user = (match[1] ?? '').split(/[:;]/, 1)[0] ?? ''
  try {
    // An escape may stand for a NUL character.
    return cleanText(decodeURIComponent(user))
  } catch {
    return user
  }
}
