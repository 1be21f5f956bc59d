import { randomInt, randomUUID } from 'node:crypto'
import type { Clock } from '../../media/base/clock.js'
import { errorText } from '../../media/base/errors.js'
import type { SipServer } from '../sip/sip-port.js'
import { sipUri } from '../sip/sip-uri.js'
import { type Credentials, DigestClient } from './digest-client.js'
import { contactItself, flowRoute, type RegisteredContact } from './registrar-rules.js'

export type ProbeMethod = 'options' | 'register'

/** The API field `lastProbe`; `at` is Unix time (ms). */
export interface TrunkProbe {
  readonly at: number
  readonly ok: boolean
  readonly method: ProbeMethod
  /** Null without a response. */
  readonly sipStatus: number | null
  /** Time to the final response (ms), authentication included; null without a response. */
  readonly latencyMs: number | null
  readonly error: string | null
}

export interface ProbeTarget {
  readonly host: string
  /** 0 when no port is configured. */
  readonly port: number
  readonly transport: 'udp' | 'tcp' | 'tls'
  readonly domain: string | null
  readonly credentials: Credentials | null
  /** True for a host that a customer named: only its public addresses are used. */
  readonly publicOnly?: boolean
  /** The registered contact of the telephone system, which is asked there instead of at the host. */
  readonly contact?: RegisteredContact
}

/** Time limit (ms): a slower gateway is of no use for calls. */
const DEADLINE_MS = 10_000
/** Statuses that refuse OPTIONS but prove that the peer speaks SIP: many carriers know no other response. */
const ALIVE = new Set([404, 405, 480, 486, 488, 501])

/**
 * Probes a gateway: with OPTIONS whether it is alive, with REGISTER whether it accepts our account. The
 * REGISTER has no Contact, so it only queries the bindings (RFC 3261 10.2.3). Never rejects.
 */
export async function probeTrunk(
  { sip, clock }: { readonly sip: Pick<SipServer, 'request'>; readonly clock: Clock },
  target: ProbeTarget,
  method: ProbeMethod,
  deadlineMs = DEADLINE_MS,
): Promise<TrunkProbe> {
  const at = clock.wall()
  const startedAt = clock.now()
  const failed = (error: string): TrunkProbe => ({
    at,
    ok: false,
    method,
    sipStatus: null,
    latencyMs: null,
    error,
  })
  const { host, port, transport, domain, credentials, contact, publicOnly = false } = target
  if (method === 'register' && credentials === null)
    return failed('the trunk has no credentials to register with')
  const user = credentials === null ? null : encodeURIComponent(credentials.username).replaceAll('%2B', '+')
  const accountHost = domain ?? (host.includes(':') ? `[${host}]` : host)
  const account = user === null ? null : `<sip:${user}@${accountHost}>`
  let deadline = (): void => {}
  const late = new Promise<null>((resolve) => {
    const timer = clock.after(deadlineMs, () => resolve(null))
    deadline = () => timer.cancel()
  })
  try {
    const answer = await Promise.race([
      late,
      sip.request({
        method: method === 'options' ? 'OPTIONS' : 'REGISTER',
        uri:
          contact === undefined
            ? sipUri({ user: 'x', host, port, transport }).replace('x@', '')
            : contactItself(contact),
        callId: randomUUID(),
        cseq: randomInt(1, 2 ** 20),
        headers: {
          ...(account === null || method === 'options' ? {} : { From: account, To: account }),
          ...(method === 'options' ? { Accept: 'application/sdp' } : {}),
        },
        digest: credentials === null ? null : new DigestClient(credentials),
        publicOnly,
        ...(contact === undefined ? {} : { route: flowRoute(contact.flow) }),
      }),
    ])
    if (answer === null) return failed(localReason(408, target))
    if (answer.local) return failed(localReason(answer.status, target))
    const { status } = answer
    const ok = (status >= 200 && status < 300) || (method === 'options' && ALIVE.has(status))
    const latencyMs = Math.round(clock.now() - startedAt)
    return { at, ok, method, sipStatus: status, latencyMs, error: ok ? null : reasonOf(status, method) }
  } catch (error) {
    return failed(errorText(error))
  } finally {
    deadline()
  }
}

function reasonOf(status: number, method: ProbeMethod): string {
  switch (status) {
    case 401:
    case 407:
      return 'the user name or the password is wrong, or none is set: the gateway asked for credentials again'
    case 403:
      return 'forbidden: the gateway does not accept requests from this address or account'
    case 404:
      return 'the gateway does not know this account: check the user name and the domain'
    case 405:
    case 501:
      return `the gateway does not support ${method.toUpperCase()}: use IP authentication or another method`
    case 408:
      return 'a proxy in front of the gateway got no answer from it'
    case 423:
      return 'the gateway wants a longer registration time'
    case 503:
      return 'the gateway is overloaded or has no route: its administrator has to look at its log'
    default:
      return `the gateway answered ${status}`
  }
}

/** Reason of a request that no gateway answered. */
function localReason(status: number, { host, port, transport }: ProbeTarget): string {
  if (status === 430) return 'the connection over which it registered has ended: it has to register again'
  const place = `${host}${port === 0 ? '' : ` port ${port}`} over ${transport.toUpperCase()}`
  return status === 408
    ? `no answer from ${place}: check the port, the transport and the firewall`
    : `${place} cannot be reached: no such host, the connection was refused, or its TLS certificate is not valid`
}
