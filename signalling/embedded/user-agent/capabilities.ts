import type { Core } from '../core.js'
import { hostText } from '../message/sip-header.js'
import { type Header, headersOf, type SipRequest } from '../message/sip-message.js'
import { type Flow, isSecure } from '../transport/transport.js'
import { isSips } from './own-headers.js'

/*
 * Checks the URI scheme and the option tags of requests (RFC 3261 19.2). The application decides whether it
 * supports an extension; the server refuses the extensions that no application can implement.
 */

/** Registered option tags that an application or this server may support. */
const KNOWN: ReadonlySet<string> = new Set([
  '100rel',
  '199',
  'answermode',
  'early-session',
  'eventlist',
  'from-change',
  'geolocation-http',
  'geolocation-sip',
  'gin',
  'gruu',
  'histinfo',
  'ice',
  'join',
  'multiple-refer',
  'norefersub',
  'nosub',
  'outbound',
  'path',
  'policy',
  'precondition',
  'pref',
  'privacy',
  'recipient-list-invite',
  'recipient-list-message',
  'recipient-list-subscribe',
  'record-aware',
  'replaces',
  'resource-priority',
  'sdp-anat',
  'sec-agree',
  'siprec',
  'tdialog',
  'timer',
  'trickle-ice',
  'uui',
])

/** Option tags that this server supports as a proxy; others concern the endpoints only. */
const KNOWN_TO_PROXY: ReadonlySet<string> = new Set(['100rel', 'path', 'timer'])

/** Returns the Unsupported header for unknown option tags in Require, or null when all are known. */
export function unsupportedRequire(request: SipRequest): readonly Header[] | null {
  return unsupported(request, 'Require', KNOWN)
}

/** Returns the Unsupported header for Proxy-Require before forwarding (RFC 3261 16.3), or null. */
export function unsupportedProxyRequire(request: SipRequest): readonly Header[] | null {
  return unsupported(request, 'Proxy-Require', KNOWN_TO_PROXY)
}

/**
 * Checks a SIPS URI, which requires that every hop is secure (RFC 5630 3). Without TLS this server does not
 * support the scheme, and a request that arrived in clear text has already broken the guarantee. Returns null
 * when the request is acceptable. WebSockets count as secure, because a web server in front often terminates
 * their TLS.
 */
export function schemeRejection(
  core: Core,
  request: SipRequest,
  flow: Flow,
): { readonly status: 416 | 480; readonly headers: readonly Header[] } | null {
  if (!isSips(request.uri) || (flow.protocol !== 'udp' && flow.protocol !== 'tcp')) return null
  if (!core.transports.some(({ protocol }) => isSecure(protocol))) return { status: 416, headers: [] }
  const { address, port } = flow.transport.advertised(flow.remote.address)
  const value = `380 ${hostText(address)}:${port} "SIPS Not Allowed"`
  return { status: 480, headers: [{ name: 'Warning', value }] }
}

function unsupported(
  request: SipRequest,
  name: string,
  known: ReadonlySet<string>,
): readonly Header[] | null {
  const tags = headersOf(request, name)
    .flatMap((line) => line.split(','))
    .map((tag) => tag.trim())
    .filter((tag) => tag !== '' && !known.has(tag.toLowerCase()))
  return tags.length === 0 ? null : [{ name: 'Unsupported', value: tags.join(', ') }]
}
