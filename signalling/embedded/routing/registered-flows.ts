import type { Clock } from '../../../media/base/clock.js'
import { parseAddress } from '../message/name-addr.js'
import { paramOf, parseUri, splitList } from '../message/sip-header.js'
import { headerOf, type SipMessage, type SipRequest, type SipResponse } from '../message/sip-message.js'
import { type Flow, isSecure } from '../transport/transport.js'
import { parseTarget } from './target.js'

/** Maximum number of clients remembered; beyond it the oldest registration is forgotten. */
const MAX_CLIENTS = 20_000
/** Expiry (s) of a registration without any Expires (RFC 3261 10.2.1.1). */
const DEFAULT_EXPIRES_S = 3600

/** Methods that reach a registered client over its own connection outside a dialog. */
const ROUTED: ReadonlySet<string> = new Set(['INVITE', 'OPTIONS', 'NOTIFY', 'MESSAGE'])

/**
 * The connections over which clients registered (a simple form of RFC 5626). A client behind a NAT or on a
 * WebSocket can only be reached over its own connection. Serves registrars that run on `parley sip-server`.
 * The service turns it off: its clients belong to several customers, who could name each other's Contact; its calls name
 * the flow instead (`Target.flow`).
 */
export class RegisteredFlows {
  readonly #clock: Clock
  readonly #on: boolean
  readonly #flows = new Map<string, { readonly flow: Flow; readonly untilMs: number }>()

  constructor(clock: Clock, on = true) {
    this.#clock = clock
    this.#on = on
  }

  get size(): number {
    return this.#flows.size
  }

  /** Records our 2xx to a REGISTER or SUBSCRIBE that arrived over a connection. */
  record(request: SipRequest, response: SipResponse, flow: Flow): void {
    if (!this.#on || !flow.reliable) return
    const contact = splitList(headerOf(request, 'Contact') ?? '')[0] ?? ''
    const address = parseAddress(contact)
    const key = address === null ? null : clientKey(address.uri)
    if (key === null) return
    this.#flows.delete(key)
    const seconds = granted(request, response, address?.uri ?? '')
    if (seconds === 0) return
    this.#flows.set(key, { flow, untilMs: this.#clock.now() + seconds * 1000 })
    if (this.#flows.size <= MAX_CLIENTS) return
    for (const oldest of this.#flows.keys()) {
      this.#flows.delete(oldest)
      break
    }
  }

  /** Returns the connection that a request to the URI has to use, or null. It may be closed by now. */
  find(method: string, uri: string): Flow | null {
    if (!ROUTED.has(method)) return null
    const key = clientKey(uri)
    const known = key === null ? undefined : this.#flows.get(key)
    if (key === null || known === undefined) return null
    if (known.untilMs > this.#clock.now()) {
      // A SIPS URI is never reached in clear text (RFC 3261 26.2.2).
      return parseTarget(uri)?.secure && !isSecure(known.flow.protocol) ? null : known.flow
    }
    this.#flows.delete(key)
    return null
  }
}

function clientKey(uri: string): string | null {
  const parsed = parseUri(uri)
  return parsed === null || parsed.user === '' ? null : `${parsed.user}@${parsed.host.toLowerCase()}`
}

/** Returns the expiry (s) that a 2xx to a REGISTER grants to its first Contact; 0 when it removes it. */
export function grantedExpiresS(request: SipRequest, response: SipResponse): number {
  const contact = splitList(headerOf(request, 'Contact') ?? '')[0] ?? ''
  if (contact === '*') return 0
  return granted(request, response, parseAddress(contact)?.uri ?? '')
}

/** Returns the expiry (s) granted to a contact: its own `expires`, else the Expires header. */
function granted(request: SipMessage, response: SipMessage, uri: string): number {
  const contacts = [headerOf(response, 'Contact') ?? '', headerOf(request, 'Contact') ?? '']
  for (const line of contacts) {
    for (const item of splitList(line)) {
      const address = parseAddress(item)
      if (address === null || address.uri !== uri) continue
      const own = paramOf(address.params, 'expires')
      if (own !== null && /^\d{1,10}$/.test(own)) return Number(own)
    }
  }
  const header = headerOf(response, 'Expires') ?? headerOf(request, 'Expires')
  return header !== null && /^\d{1,10}$/.test(header) ? Number(header) : DEFAULT_EXPIRES_S
}
