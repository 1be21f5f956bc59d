import { isParams, parseUri, skipQuoted, splitList } from './sip-header.js'

/** A name-addr or addr-spec with its header parameters, as in From, To, Contact and Route. */
export interface Address {
  /** Display name as written, including quotes, trimmed; empty when absent. */
  readonly display: string
  readonly uri: string
  /** `;name=value...` as written, or empty. */
  readonly params: string
}

const BLANK_QUOTE_OR_BRACKET = /[\s<>"]/
const QUOTE = 0x22
const OPEN = 0x3c

/**
 * Parses one address (RFC 3261 20.10, 25.1). The URI begins with an angle bracket outside of quoted strings, and only
 * parameters may follow it: a display name is never taken for an address. A display name may hold characters that the
 * grammar wants quoted, except comma, semicolon and brackets. Returns null for anything else.
 */
export function parseAddress(value: string): Address | null {
  const open = openBracket(value)
  if (open === null) return null
  if (open < 0) return addrSpec(value)
  const close = value.indexOf('>', open)
  if (close < 0) return null
  const uri = value.slice(open + 1, close)
  const params = value.slice(close + 1).trim()
  if (uri === '' || BLANK_QUOTE_OR_BRACKET.test(uri) || !isAddressParams(params)) return null
  return { display: value.slice(0, open).trim(), uri, params }
}

/** Parses a list of addresses, as in Contact, Route and P-Asserted-Identity. Leaves out entries that are no address. */
export function parseAddresses(value: string): readonly Address[] {
  return splitList(value).flatMap((item) => parseAddress(item) ?? [])
}

/**
 * Returns the user part of a SIP, SIPS or tel URI, as written, without the password and the parameters of a telephone
 * number (`+91...;phone-context=...`). Returns '' for a URI without a user, of another scheme or malformed.
 */
export function userOfUri(uri: string): string {
  const tel = /^tel:([^;?@]*)$/i.exec(uri.split(/[;?]/, 1)[0] ?? '')
  const user = tel === null ? (parseUri(uri)?.user ?? '') : (tel[1] ?? '')
  return user.split(/[:;]/, 1)[0] ?? ''
}

/**
 * Returns the position of the bracket that begins the URI, -1 without one, or null when the display name is malformed.
 */
function openBracket(value: string): number | null {
  let at = 0
  let isPlain = true
  while (at < value.length) {
    const c = value.charCodeAt(at)
    if (c === OPEN) return at
    if (c === QUOTE) {
      const end = skipQuoted(value, at)
      // A quote inside an unquoted name would hide the start of the URI.
      if (end < 0 || (at > 0 && value.slice(0, at).trim() !== '')) return null
      at = end
      isPlain = false
      continue
    }
    // A comma or semicolon ends the first address or begins its parameters, so the value has no brackets or two
    // addresses.
    if (c === 0x2c || c === 0x3b || c === 0x3e) return isPlain && value.indexOf('<', at) < 0 ? -1 : null
    at += 1
  }
  return isPlain ? -1 : null
}

/** Parses an address without brackets: its parameters belong to the header (RFC 3261 20). */
function addrSpec(value: string): Address | null {
  const semicolon = value.indexOf(';')
  const uri = (semicolon < 0 ? value : value.slice(0, semicolon)).trim()
  if (uri === '' || !uri.includes(':') || /[\s<>"?,]/.test(uri)) return null
  const params = semicolon < 0 ? '' : value.slice(semicolon).trim()
  return isAddressParams(params) ? { display: '', uri, params } : null
}

/** Returns whether the text holds the parameters of one address: brackets and commas occur in quoted values only. */
function isAddressParams(params: string): boolean {
  if (!isParams(params)) return false
  for (let i = 0; i < params.length; i++) {
    const c = params.charCodeAt(i)
    if (c === QUOTE) {
      i = skipQuoted(params, i) - 1
      if (i < 0) return false
    } else if (c === OPEN || c === 0x3e || c === 0x2c) return false
  }
  return true
}
