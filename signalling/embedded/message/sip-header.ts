/** The parts of a SIP or SIPS URI (RFC 3261 19.1.1). */
export interface SipUri {
  readonly scheme: 'sip' | 'sips'
  /** User and password without the `@`; empty when absent. */
  readonly user: string
  /** IPv6 without brackets. */
  readonly host: string
  readonly port: number | null
  /** `;name=value...` as written, or empty. */
  readonly params: string
  /** `?name=value...` as written, or empty. */
  readonly headers: string
}

export interface Via {
  /** The transport in upper case: `UDP`, `TCP`, ... */
  readonly transport: string
  /** IPv6 without brackets. */
  readonly host: string
  readonly port: number | null
  readonly params: string
  readonly branch: string | null
}

const NUMBER = /^\d{1,10}$/
const HOST_NAME = /^[A-Za-z0-9._-]+$/
const IPV6 = /^[0-9A-Fa-f:.]+$/
const EMPTY_PARAM = /;\s*;/
const TOKEN = /^[A-Za-z0-9\-.!%*_+`'~]+$/

export function isToken(text: string): boolean {
  return TOKEN.test(text)
}

/** Parses an unsigned integer below `limit`. Returns null for anything else. */
export function parseInteger(text: string, limit: number): number | null {
  if (!NUMBER.test(text)) return null
  const value = Number(text)
  return value < limit ? value : null
}

/** Parses `host[:port]` with IPv6 in brackets. Returns null for malformed text. */
export function parseHostPort(text: string): { host: string; port: number | null } | null {
  let host = text
  let rest = ''
  if (text.startsWith('[')) {
    const end = text.indexOf(']')
    if (end < 0) return null
    host = text.slice(1, end)
    rest = text.slice(end + 1)
    if (!IPV6.test(host)) return null
  } else {
    const colon = text.indexOf(':')
    if (colon >= 0) {
      host = text.slice(0, colon)
      rest = text.slice(colon)
    }
    if (!HOST_NAME.test(host)) return null
  }
  if (rest === '') return { host, port: null }
  if (!rest.startsWith(':')) return null
  const port = parseInteger(rest.slice(1), 65_536)
  return port === null || port === 0 ? null : { host, port }
}

/** Parses a SIP or SIPS URI. Returns null for other schemes and for malformed text. */
export function parseUri(text: string): SipUri | null {
  const colon = text.indexOf(':')
  if (colon < 0) return null
  const scheme = text.slice(0, colon).toLowerCase()
  if (scheme !== 'sip' && scheme !== 'sips') return null
  // The user part may contain `;` and `?`, so the `@` has to be found first.
  const at = text.lastIndexOf('@')
  const user = at < 0 ? '' : text.slice(colon + 1, at)
  if (at >= 0 && user === '') return null
  const start = at < 0 ? colon + 1 : at + 1
  let end = text.indexOf(';', start)
  const query = text.indexOf('?', start)
  if (end < 0 || (query >= 0 && query < end)) end = query
  const hostPort = parseHostPort(end < 0 ? text.slice(start) : text.slice(start, end))
  if (hostPort === null) return null
  const tail = end < 0 ? '' : text.slice(end)
  const split = tail.indexOf('?')
  return {
    scheme,
    user,
    host: hostPort.host,
    port: hostPort.port,
    params: split < 0 ? tail : tail.slice(0, split),
    headers: split < 0 ? '' : tail.slice(split),
  }
}

/**
 * Returns whether the text is empty or `;name...` without two semicolons in a row. A trailing one is
 * tolerated.
 */
export function isParams(text: string): boolean {
  return text === '' || (text.charCodeAt(0) === 0x3b && !EMPTY_PARAM.test(text))
}

/** Returns the position after the quoted string that begins at `from`, or -1 for an unterminated one. */
export function skipQuoted(text: string, from: number): number {
  for (let i = from + 1; i < text.length; i++) {
    const c = text.charCodeAt(i)
    if (c === 0x5c) i += 1
    else if (c === 0x22) return i + 1
  }
  return -1
}

/**
 * Returns the value of a parameter in `;name=value...` text: the text as written, `''` for a parameter
 * without a value, or null when the parameter is absent. Names are case-insensitive.
 */
export function paramOf(params: string, name: string): string | null {
  let at = params.indexOf(';')
  while (at >= 0) {
    const end = endOfParam(params, at + 1)
    const equals = params.indexOf('=', at + 1)
    const hasValue = equals >= 0 && equals < end
    const found = params.slice(at + 1, hasValue ? equals : end).trim()
    if (found.length === name.length && found.toLowerCase() === name) {
      return hasValue ? params.slice(equals + 1, end).trim() : ''
    }
    at = end < params.length ? end : -1
  }
  return null
}

function endOfParam(params: string, from: number): number {
  let quoted = false
  for (let i = from; i < params.length; i++) {
    const c = params.charCodeAt(i)
    if (quoted) {
      if (c === 0x5c) i += 1
      else if (c === 0x22) quoted = false
    } else if (c === 0x22) quoted = true
    else if (c === 0x3b) return i
  }
  return params.length
}

/** Splits a comma-separated header value; commas in quotes and angle brackets do not separate. */
export function splitList(value: string): readonly string[] {
  if (!value.includes(',')) return [value.trim()]
  const items: string[] = []
  let quoted = false
  let depth = 0
  let start = 0
  for (let i = 0; i < value.length; i++) {
    const c = value.charCodeAt(i)
    if (quoted) {
      if (c === 0x5c) i += 1
      else if (c === 0x22) quoted = false
    } else if (c === 0x22) quoted = true
    else if (c === 0x3c) depth += 1
    else if (c === 0x3e) depth -= 1
    else if (c === 0x2c && depth <= 0) {
      items.push(value.slice(start, i).trim())
      start = i + 1
    }
  }
  items.push(value.slice(start).trim())
  return items
}

/** Parses one Via element. Returns null for malformed text. */
export function parseVia(value: string): Via | null {
  const semicolon = value.indexOf(';')
  const head = semicolon < 0 ? value : value.slice(0, semicolon)
  let transport: string
  let sentBy: string
  if (head.startsWith('SIP/2.0/') && head.indexOf(' ') === 11) {
    transport = head.slice(8, 11).toUpperCase()
    sentBy = head.slice(12).trim()
  } else {
    const match = /^SIP\s*\/\s*2\.0\s*\/\s*([A-Za-z0-9-]+)\s+(\S.*)$/i.exec(head.trim())
    if (match === null) return null
    transport = (match[1] ?? '').toUpperCase()
    sentBy = (match[2] ?? '').trim()
  }
  const hostPort = parseHostPort(sentBy.includes(' ') ? sentBy.replace(/\s{0,9}:\s{0,9}/, ':') : sentBy)
  if (hostPort === null) return null
  const params = semicolon < 0 ? '' : value.slice(semicolon)
  if (!isParams(params)) return null
  const branch = paramOf(params, 'branch')
  return { transport, ...hostPort, params, branch: branch === '' ? null : branch }
}

/**
 * Parses `number method`. RFC 3261 8.1.1.5 limits the number to 2^31 - 1. Returns null for malformed text.
 */
export function parseCSeq(value: string): { number: number; method: string } | null {
  const space = value.search(/\s/)
  if (space < 0) return null
  const number = parseInteger(value.slice(0, space), 2 ** 31)
  const method = value.slice(space).trim()
  return number === null || !isToken(method) ? null : { number, method }
}

/** Returns the host as it is written in a URI: IPv6 in brackets. */
export function hostText(host: string): string {
  return host.includes(':') ? `[${host}]` : host
}
