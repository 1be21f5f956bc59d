import { parseAddress } from '../embedded/message/name-addr.js'
import { hostText, paramOf, parseCSeq, parseUri, splitList } from '../embedded/message/sip-header.js'
import { FLOW } from '../embedded/routing/target.js'

/*
 * The rules of a registrar (RFC 3261 10.3). The address-of-record is a trunk: a client with its credentials registers
 * the places at which a telephone system takes calls.
 */

/** The way back to a client: where its REGISTER came from (RFC 5626, RFC 3581). */
export interface RegisteredFlow {
  readonly transport: 'udp' | 'tcp' | 'tls'
  /** Source of the REGISTER; IPv6 without brackets. */
  readonly address: string
  readonly port: number
  /** Our listener that received it, as `address:port`. */
  readonly local: string
}

/** A place at which a telephone system is registered. */
export interface RegisteredContact {
  /** Contact URI, as the client wrote it. */
  readonly uri: string
  readonly callId: string
  readonly cseq: number
  /** Preference of the client, 0 to 1; 1 by default. */
  readonly q: number
  readonly flow: RegisteredFlow
  /** Unix time (ms). */
  readonly registeredAt: number
  readonly expiresAt: number
}

export interface RegisterRequest {
  /** The values of Contact; null without one: the request asks what is registered. */
  readonly contact: string | null
  readonly expires: string | null
  readonly callId: string
  readonly cseq: string
  readonly flow: RegisteredFlow
}

export type RegisterOutcome =
  /** `contacts` is all that is registered now, the one that is called first. */
  | { readonly kind: 'accepted'; readonly contacts: readonly RegisteredContact[] }
  | {
      readonly kind: 'refused'
      readonly status: 400 | 423 | 500
      readonly reason: string
      readonly headers: Readonly<Record<string, string>>
    }

/** Lifetimes (s) that are granted; a client that asks for less than the shortest gets 423. */
export const MIN_EXPIRES_S = 60
export const MAX_EXPIRES_S = 3_600
/** Maximum number of contacts of a trunk. A further one takes the place of the oldest. */
export const MAX_CONTACTS = 5
/** Longest Contact URI (characters). */
const MAX_URI = 300

/** Applies a REGISTER to what is registered. Changes nothing unless the whole request can be accepted. */
export function register(
  known: readonly RegisteredContact[],
  request: RegisterRequest,
  now: number,
): RegisterOutcome {
  const live = liveContacts(known, now)
  const { contact, callId, flow } = request
  const cseq = parseCSeq(request.cseq)?.number
  if (cseq === undefined || callId === '') return refused(400, 'Call-ID or CSeq is missing')
  if (contact === null) return { kind: 'accepted', contacts: live }
  const late = (known: RegisteredContact) => known.callId === callId && known.cseq >= cseq
  const values = splitList(contact)
  if (values.some((value) => value === '*')) {
    if (values.length > 1 || seconds(request.expires) !== 0)
      return refused(400, 'Contact * needs Expires 0 and no other Contact')
    return live.some(late) ? OUT_OF_ORDER : { kind: 'accepted', contacts: [] }
  }
  if (values.length > MAX_CONTACTS) return refused(400, `more than ${MAX_CONTACTS} contacts`)
  const older = new Map(live.map((one) => [contactKey(one.uri), one]))
  const fresh = new Map<string, RegisteredContact>()
  for (const value of values) {
    const address = parseAddress(value)
    const key = address === null ? null : contactKey(address.uri)
    if (address === null || key === null)
      return refused(400, 'a Contact is no SIP URI of at most 300 characters')
    // A SIPS URI is never reached in clear text (RFC 3261 26.2.2).
    if (/^sips:/i.test(address.uri) && flow.transport !== 'tls')
      return refused(400, 'a sips Contact needs TLS')
    const before = older.get(key)
    if (before !== undefined && late(before)) return OUT_OF_ORDER
    const wanted = seconds(paramOf(address.params, 'expires')) ?? seconds(request.expires) ?? MAX_EXPIRES_S
    older.delete(key)
    fresh.delete(key)
    if (wanted === 0) continue
    if (wanted < MIN_EXPIRES_S) {
      const reason = `the shortest registration is ${MIN_EXPIRES_S} seconds`
      return refused(423, reason, { 'Min-Expires': String(MIN_EXPIRES_S) })
    }
    fresh.set(key, {
      uri: address.uri,
      callId,
      cseq,
      q: preference(paramOf(address.params, 'q')),
      flow,
      registeredAt: now,
      expiresAt: now + Math.min(wanted, MAX_EXPIRES_S) * 1000,
    })
  }
  const left = [...older.values()].sort((a, b) => b.registeredAt - a.registeredAt)
  const newest = [...fresh.values(), ...left].slice(0, MAX_CONTACTS)
  return { kind: 'accepted', contacts: newest.sort((a, b) => b.q - a.q) }
}

/** Returns the contacts that have not expired, the one that is called first. */
export function liveContacts(
  contacts: readonly RegisteredContact[],
  now: number,
): readonly RegisteredContact[] {
  return contacts.filter(({ expiresAt }) => expiresAt > now)
}

/** Returns the values of Contact in the 200: everything that is registered, with the seconds that are left. */
export function contactValues(contacts: readonly RegisteredContact[], now: number): string {
  return contacts
    .map(({ uri, q, expiresAt }) => {
      const preferred = q === 1 ? '' : `;q=${q}`
      return `<${uri}>${preferred};expires=${Math.max(1, Math.ceil((expiresAt - now) / 1000))}`
    })
    .join(', ')
}

/**
 * Returns the Request-URI for a call of a number to a contact: the contact with the number as its user, since a telephone
 * system has many numbers but registers once. Its parameters stay, by which clients know their account.
 */
export function calledContact(contact: RegisteredContact, user: string): string {
  const { scheme, place, params } = readUri(contact.uri)
  return `${scheme}:${encodeURIComponent(user).replaceAll('%2B', '+')}@${place}${params}`
}

/** Returns the URI of a contact for a request to the telephone system itself. */
export function contactItself(contact: RegisteredContact): string {
  const { scheme, user, place, params } = readUri(contact.uri)
  return `${scheme}:${user === '' ? '' : `${user}@`}${place}${params}`
}

/** Returns the route to a registered client, whatever its Contact says: the flow of its REGISTER. */
export function flowRoute({ transport, address, port, local }: RegisteredFlow): string {
  return `sip:${hostText(address)}:${port};transport=${transport};${FLOW}=${local}`
}

function readUri(uri: string) {
  const { scheme = 'sip', user = '', host = '', port = null, params = '' } = parseUri(uri) ?? {}
  return { scheme, user, place: `${hostText(host)}${port === null ? '' : `:${port}`}`, params }
}

/**
 * Returns what two Contacts for the same place have in common (RFC 3261 19.1.4, without parameters that clients change at
 * each start); null for one that cannot be called.
 */
function contactKey(uri: string): string | null {
  if (uri.length > MAX_URI || !/^[\x21-\x7e]+$/.test(uri)) return null
  const parsed = parseUri(uri)
  if (parsed === null) return null
  const { scheme, user, host, port, params } = parsed
  const transport = paramOf(params, 'transport')?.toLowerCase() ?? ''
  return [scheme, user, host.toLowerCase(), port ?? '', transport].join('|')
}

function preference(q: string | null): number {
  return q !== null && /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/.test(q) ? Number(q) : 1
}

/** Returns a number of seconds; null for an absent or malformed one, which counts as absent (RFC 3261 10.3). */
function seconds(text: string | null): number | null {
  return text !== null && /^\s*\d{1,10}\s*$/.test(text) ? Number(text) : null
}

function refused(
  status: 400 | 423 | 500,
  reason: string,
  headers: Readonly<Record<string, string>> = {},
): RegisterOutcome {
  return { kind: 'refused', status, reason, headers }
}

/** RFC 3261 10.3: an update out of order is aborted. */
const OUT_OF_ORDER = refused(500, 'the CSeq is not higher than that of an earlier REGISTER')
