import { parseAddress } from '../message/name-addr.js'
import { isToken, parseCSeq, parseInteger, parseUri, splitList } from '../message/sip-header.js'
import { canonicalName, type Header, METHODS, NO_BODY, type SipMessage } from '../message/sip-message.js'

/** A checked message of an application, or the text of its rejection. */
export type AppMessage =
  | { readonly ok: true; readonly message: SipMessage }
  | { readonly ok: false; readonly error: string }

/** Headers that the server writes itself; those of an application are dropped. */
const SERVER_OWNED: ReadonlySet<string> = new Set(['Via', 'Route', 'Record-Route', 'RSeq', 'Content-Length'])

const preserved: ReadonlySet<string> = new Set(
  (process.env.DRACHTIO_PRESERVE_HEADER_NAMES ?? '')
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== ''),
)

/**
 * Reads the SIP text of an application: start line, headers, body. Malformed header lines are dropped; values
 * end at the first CR or LF, which prevents header injection. The body is all text after the empty line: the
 * Content-Length of the application is not trusted.
 */
export function readAppMessage(bytes: Buffer): AppMessage {
  const headEnd = bytes.indexOf('\r\n\r\n', 0, 'latin1')
  const text = bytes.toString('latin1', 0, headEnd < 0 ? bytes.length : headEnd)
  // A copy, because a stored body must not retain its whole frame.
  const body = headEnd < 0 ? NO_BODY : Buffer.from(bytes.subarray(headEnd + 4))
  const lines = text.split('\r\n')
  const startLine = lines[0] ?? ''

  const headers: Header[] = []
  for (let i = 1; i < lines.length; i++) {
    const header = headerLine(lines[i] ?? '')
    if (header === null || SERVER_OWNED.has(header.name)) continue
    const cleaned = checked(header)
    if (cleaned === null) return { ok: false, error: `invalid ${header.name} header` }
    headers.push(cleaned)
  }
  if (body.length > 0 && !headers.some((header) => header.name === 'Content-Type')) {
    if (body.toString('latin1', 0, 3) !== 'v=0') return { ok: false, error: 'missing content-type' }
    headers.push({ name: 'Content-Type', value: 'application/sdp' })
  }

  const status = /^SIP\/2\.0 ([1-6]\d\d)(?: ([^\r\n]*))?$/.exec(startLine)
  if (status) {
    const reason = status[2] ?? ''
    return { ok: true, message: { kind: 'response', status: Number(status[1]), reason, headers, body } }
  }
  const request = /^(\S+) (\S+) SIP\/2\.0$/.exec(startLine)
  const method = request?.[1] ?? ''
  const uri = request?.[2] ?? ''
  const target = parseUri(uri)
  if (!METHODS.has(method) || target === null || target.headers !== '') {
    return { ok: false, error: `invalid request-uri: ${startLine}` }
  }
  return { ok: true, message: { kind: 'request', method, uri, headers, body } }
}

function headerLine(line: string): Header | null {
  const colon = line.indexOf(':')
  if (colon <= 0) return null
  const written = line.slice(0, colon).trimEnd()
  if (!isToken(written)) return null
  const name = canonicalName(written) ?? unknownName(written)
  const end = line.slice(colon + 1).search(/[\r\n]/)
  const value = (end < 0 ? line.slice(colon + 1) : line.slice(colon + 1, colon + 1 + end)).trim()
  return { name, value }
}

/** Capitalises each part of a header name, except for names that the application spells itself. */
function unknownName(written: string): string {
  if (/^[Xx]-/.test(written) || preserved.has(written)) return written
  return written.replace(
    /(^|-)([a-z])/g,
    (_all, hyphen: string, letter: string) => hyphen + letter.toUpperCase(),
  )
}

/**
 * Returns the header with its addresses in angle brackets, or null for a malformed header that this server
 * must understand.
 */
function checked(header: Header): Header | null {
  const { name, value } = header
  switch (name) {
    case 'From':
    case 'To': {
      const address = bracketed(value)
      return address === null ? null : { name, value: address }
    }
    case 'Contact': {
      if (value === '*') return header
      const items = splitList(value).map(bracketed)
      return items.includes(null) ? null : { name, value: items.join(', ') }
    }
    case 'CSeq':
      return parseCSeq(value) === null ? null : header
    case 'Max-Forwards':
      return parseInteger(value, 256) === null ? null : header
    case 'Expires':
      return /^\d{1,10}$/.test(value) ? header : null
    case 'Call-ID':
      return value === '' || /[\s|]/.test(value) ? null : header
    default:
      return header
  }
}

/** Returns `sip:a@b;tag=1` as `<sip:a@b>;tag=1`, so that parameters can be added to the URI. */
function bracketed(value: string): string | null {
  const address = parseAddress(value)
  if (address === null) return null
  const { display, uri, params } = address
  return `${display === '' ? '' : `${display} `}<${uri}>${params}`
}
