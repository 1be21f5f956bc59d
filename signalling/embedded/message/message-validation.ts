import type { Address } from './name-addr.js'
import { parseAddress } from './name-addr.js'
import type { Via } from './sip-header.js'
import { paramOf, parseCSeq, parseInteger, parseUri, parseVia, splitList } from './sip-header.js'
import { headerOf, headersOf, type SipMessage, type SipRequest } from './sip-message.js'

/** The checked header values that the transaction and dialog layers need of every message. */
export interface Essentials {
  readonly via: Via
  readonly callId: string
  readonly cseq: number
  readonly cseqMethod: string
  readonly from: Address
  /** Empty when the sender gave no tag (RFC 2543). */
  readonly fromTag: string
  readonly to: Address
  readonly toTag: string | null
}

export type ValidationResult =
  | { readonly ok: true; readonly essentials: Essentials }
  | { readonly ok: false; readonly status: 400 | 416; readonly reason: string }

/** Requests that set or refresh the remote target and therefore must have a Contact. */
const NEEDS_CONTACT: ReadonlySet<string> = new Set(['INVITE', 'SUBSCRIBE'])

/** Checks that the mandatory headers are present and well formed (RFC 3261 8.1.1 and 8.2). */
export function validateMessage(message: SipMessage): ValidationResult {
  const viaLine = headerOf(message, 'Via')
  const vias = viaLine === null ? [] : splitList(viaLine)
  const via = vias.includes('') ? null : parseVia(vias[0] ?? '')
  if (via === null) return bad('Via')
  const callId = single(message, 'Call-ID')
  if (callId === null || callId === '' || /[\s|]/.test(callId)) return bad('Call-ID')
  const cseqText = single(message, 'CSeq')
  const cseq = cseqText === null ? null : parseCSeq(cseqText)
  if (cseq === null) return bad('CSeq')
  const fromText = single(message, 'From')
  const from = fromText === null ? null : parseAddress(fromText)
  if (from === null) return bad('From')
  const toText = single(message, 'To')
  const to = toText === null ? null : parseAddress(toText)
  if (to === null) return bad('To')
  const fromTag = paramOf(from.params, 'tag') ?? ''
  if (/[|]/.test(fromTag)) return bad('From')
  const toTag = paramOf(to.params, 'tag')
  const essentials: Essentials = {
    via,
    callId,
    cseq: cseq.number,
    cseqMethod: cseq.method,
    from,
    fromTag,
    to,
    toTag: toTag === '' ? null : toTag,
  }
  if (message.kind === 'request') {
    const reason = screenRequest(message, essentials)
    if (reason !== null) return { ok: false, status: 400, reason }
    if (!isServed(message.uri)) return { ok: false, status: 416, reason: 'Unsupported URI Scheme' }
  }
  return { ok: true, essentials }
}

function screenRequest(request: SipRequest, essentials: Essentials): string | null {
  if (essentials.cseqMethod !== request.method) return 'Bad CSeq Header'
  const target = parseUri(request.uri)
  // RFC 3261 19.1.1: header fields in a Request-URI could inject headers and are refused.
  if (target === null ? /^sips?:/i.test(request.uri) : target.headers !== '') return 'Bad Request-URI'
  const forwards = headersOf(request, 'Max-Forwards')
  if (forwards.length > 1) return 'Bad Max-Forwards Header'
  if (forwards[0] !== undefined && parseInteger(forwards[0], 256) === null) return 'Bad Max-Forwards Header'
  const date = headerOf(request, 'Date')
  if (date !== null && !/ GMT$/.test(date)) return 'Bad Date Header'
  const expires = headerOf(request, 'Expires')
  if (expires !== null && !/^\d{1,20}$/.test(expires)) return 'Bad Expires Header'
  const contacts = headersOf(request, 'Contact')
  for (const line of contacts) {
    for (const item of splitList(line)) {
      if (item === '*') {
        if (request.method !== 'REGISTER' || Number(expires ?? '1') !== 0) return 'Bad Contact Header'
      } else if (parseAddress(item) === null) return 'Bad Contact Header'
    }
  }
  if (NEEDS_CONTACT.has(request.method)) {
    if (contacts.length === 0) return 'Missing Contact Header'
    if (essentials.fromTag === '') return 'Bad From Header'
  }
  return null
}

/** URI schemes that applications may handle besides `sip:` and `sips:`. */
const SERVED = /^(?:sips?|tel|im|pres|urn):/i

function isServed(uri: string): boolean {
  return SERVED.test(uri)
}

/** Returns the value of a header that may occur only once, or null when it is absent or repeated. */
function single(message: SipMessage, name: string): string | null {
  let found: string | null = null
  for (const header of message.headers) {
    if (header.name !== name) continue
    if (found !== null) return null
    found = header.value
  }
  return found
}

function bad(name: string): ValidationResult {
  return { ok: false, status: 400, reason: `Bad ${name} Header` }
}
