/*
 * SIP messages as data. Text is Latin-1, one character per byte: header values in UTF-8 or another encoding
 * pass through unchanged, and text offsets equal byte offsets.
 */

export interface Header {
  /** Canonical for the headers that this server knows, otherwise as received. Never Content-Length. */
  readonly name: string
  readonly value: string
}

export interface SipRequest {
  readonly kind: 'request'
  readonly method: string
  readonly uri: string
  readonly headers: readonly Header[]
  readonly body: Buffer
}

export interface SipResponse {
  readonly kind: 'response'
  readonly status: number
  readonly reason: string
  readonly headers: readonly Header[]
  readonly body: Buffer
}

export type SipMessage = SipRequest | SipResponse

export const NO_BODY = Buffer.alloc(0)

/** Methods this server understands; any other is answered with 501. */
export const METHODS: ReadonlySet<string> = new Set([
  'ACK',
  'BYE',
  'CANCEL',
  'INFO',
  'INVITE',
  'MESSAGE',
  'NOTIFY',
  'OPTIONS',
  'PRACK',
  'PUBLISH',
  'REFER',
  'REGISTER',
  'SUBSCRIBE',
  'UPDATE',
])

const CANONICAL = [
  'Accept',
  'Accept-Contact',
  'Accept-Encoding',
  'Accept-Language',
  'Alert-Info',
  'Allow',
  'Allow-Events',
  'Authentication-Info',
  'Authorization',
  'CSeq',
  'Call-ID',
  'Call-Info',
  'Contact',
  'Content-Disposition',
  'Content-Encoding',
  'Content-Language',
  'Content-Length',
  'Content-Type',
  'Date',
  'Diversion',
  'Error-Info',
  'Event',
  'Expires',
  'From',
  'In-Reply-To',
  'MIME-Version',
  'Max-Forwards',
  'Min-Expires',
  'Min-SE',
  'Organization',
  'P-Asserted-Identity',
  'Path',
  'Priority',
  'Privacy',
  'Proxy-Authenticate',
  'Proxy-Authorization',
  'Proxy-Require',
  'RAck',
  'RSeq',
  'Reason',
  'Record-Route',
  'Refer-To',
  'Referred-By',
  'Reject-Contact',
  'Replaces',
  'Reply-To',
  'Request-Disposition',
  'Require',
  'Retry-After',
  'Route',
  'SIP-ETag',
  'SIP-If-Match',
  'Server',
  'Service-Route',
  'Session-Expires',
  'Subject',
  'Subscription-State',
  'Supported',
  'Timestamp',
  'To',
  'Unsupported',
  'User-Agent',
  'Via',
  'WWW-Authenticate',
  'Warning',
]

/** Compact header names: RFC 3261 7.3.3 and later additions of the IANA registry. */
const COMPACT: Readonly<Record<string, string>> = {
  a: 'Accept-Contact',
  b: 'Referred-By',
  c: 'Content-Type',
  d: 'Request-Disposition',
  e: 'Content-Encoding',
  f: 'From',
  i: 'Call-ID',
  j: 'Reject-Contact',
  k: 'Supported',
  l: 'Content-Length',
  m: 'Contact',
  o: 'Event',
  r: 'Refer-To',
  s: 'Subject',
  t: 'To',
  u: 'Allow-Events',
  v: 'Via',
  x: 'Session-Expires',
}

const byName = new Map<string, string>()
for (const name of CANONICAL) {
  byName.set(name, name)
  byName.set(name.toLowerCase(), name)
}
for (const [short, name] of Object.entries(COMPACT)) {
  byName.set(short, name)
  byName.set(short.toUpperCase(), name)
}

/** Returns the canonical spelling of a known header name in any form, or null for an unknown one. */
export function canonicalName(name: string): string | null {
  return byName.get(name) ?? byName.get(name.toLowerCase()) ?? null
}

/** Returns the first value of a header by its canonical name, or null when it is absent. */
export function headerOf(message: { readonly headers: readonly Header[] }, name: string): string | null {
  for (const header of message.headers) if (header.name === name) return header.value
  return null
}

/** Returns all values of a header in order, one per header line. */
export function headersOf(message: { readonly headers: readonly Header[] }, name: string): readonly string[] {
  const values: string[] = []
  for (const header of message.headers) if (header.name === name) values.push(header.value)
  return values
}

/** Serialises a message. Content-Length is computed from the body and written last. */
export function serialise(message: SipMessage): Buffer {
  let head =
    message.kind === 'request'
      ? `${message.method} ${message.uri} SIP/2.0\r\n`
      : `SIP/2.0 ${message.status} ${message.reason}\r\n`
  for (const header of message.headers) head += `${header.name}: ${header.value}\r\n`
  head += `Content-Length: ${message.body.length}\r\n\r\n`
  const bytes = Buffer.allocUnsafe(head.length + message.body.length)
  bytes.write(head, 0, 'latin1')
  message.body.copy(bytes, head.length)
  return bytes
}
