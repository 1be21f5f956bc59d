import type { Core } from '../core.js'
import { hostText } from '../message/sip-header.js'
import { type Header, headersOf, type SipRequest } from '../message/sip-message.js'
import { type Flow, isSecure } from '../transport/transport.js'
import { isSips } from './own-headers.js'

/*
 * What a request asks of this server beyond its method: the URI scheme, and option tags (RFC 3261 19.2). Whether an extension is really served is up to the application; the
 * server refuses what no SIP element knows, because nobody can have written that application.
 */

/** Registered option tags an application or this server may handle. */
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

/** What a proxy of this server understands; anything more is the endpoints' affair. */
const KNOWN_TO_PROXY: ReadonlySet<string> = new Set(['100rel', 'path', 'timer'])

/** The Unsupported header for a request that requires what nobody has; null when all is known. */
export function unsupportedRequire(request: SipRequest): readonly Header[] | null {
  return unsupported(request, 'Require', KNOWN)
}

/** The same for Proxy-Require, before forwarding (RFC 3261 16.3). */
export function unsupportedProxyRequire(request: SipRequest): readonly Header[] | null {
  return unsupported(request, 'Proxy-Require', KNOWN_TO_PROXY)
}

/**
 * A SIPS URI says that every hop is secure (RFC 5630 3): where this server has no TLS the scheme is
 * unknown to it, and what came in the clear all the same has broken the promise already. Null when
 * all is well. WebSockets are often freed of their TLS by a web server in front.
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
