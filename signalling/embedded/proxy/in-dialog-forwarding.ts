import type { Core } from '../core.js'
import { newBranch } from '../ids.js'
import type { Essentials } from '../message/message-validation.js'
import { type SipRequest, serialise } from '../message/sip-message.js'
import { resolveNextHops } from '../routing/destination.js'
import { openFlow } from '../routing/next-hop.js'
import { parseTarget } from '../routing/target.js'
import { viaOf } from '../user-agent/own-headers.js'
import type { ReceivedRequest } from '../user-agent/pending-requests.js'
import { reject, sendTrying } from '../user-agent/request-dispatch.js'
import {
  forwardedRequest,
  hasOwnTopRoute,
  nextMaxForwards,
  resolveRoute,
  stripOwnRoutes,
} from './request-forwarding.js'
import { ResponseContext } from './response-context.js'

/*
 * Later requests of calls that this server proxied with Record-Route: forwarded by their Route, without an
 * application. Serves `parley sip-server`; calls of the service do not use it.
 */

/** Returns whether a request inside a dialog belongs to a proxied call. */
export function isProxiedCall(core: Core, request: SipRequest, essentials: Essentials): boolean {
  const { callId, fromTag, toTag } = essentials
  if (core.proxiedCalls.size === 0 || toTag === null || !hasOwnTopRoute(core, request)) return false
  if (core.dialogs.match(callId, fromTag, toTag) || core.earlyDialogs.match(callId, fromTag, toTag))
    return false
  return core.proxiedCalls.touch(callId)
}

export function forwardInDialog(core: Core, received: ReceivedRequest): void {
  const { request, essentials } = received
  const maxForwards = nextMaxForwards(request)
  if (maxForwards === null) {
    reject(core, received, 483)
    return
  }
  if (request.method === 'INVITE') sendTrying(received)
  const stop = resolveRoute(stripOwnRoutes(core, request))
  const relay = new ResponseContext(core, received, {
    destinations: [stop.nextHop],
    simultaneous: false,
    followRedirects: false,
    provisionalMs: null,
    compose: () =>
      forwardedRequest(core.proxiedCalls.restoreRAck(essentials.callId, request), stop, maxForwards, [], []),
    onFinal: () => {},
    onDone: (status) => {
      if (request.method === 'BYE' && status < 300) core.proxiedCalls.remove(essentials.callId)
    },
  })
  relay.start()
}

/** Forwards the ACK of a 2xx, which has no transaction (RFC 3261 16.11). */
export function forwardAck(core: Core, request: SipRequest): void {
  const maxForwards = nextMaxForwards(request)
  const stop = resolveRoute(stripOwnRoutes(core, request))
  const target = parseTarget(stop.nextHop)
  if (maxForwards === null || target === null) return
  resolveNextHops(core, { kind: 'target', target, peer: null }, (result) => {
    const nextHop = result.kind === 'found' ? result.nextHops[0] : undefined
    if (nextHop === undefined) {
      core.log.debug({ uri: stop.nextHop }, 'sip.ack_unroutable')
      return
    }
    const flow = openFlow(nextHop)
    const ack = forwardedRequest(request, stop, maxForwards, [], [])
    const via = { name: 'Via', value: viaOf(flow.transport, flow.remote.address, newBranch()) }
    flow.send(serialise({ ...ack, headers: [via, ...ack.headers] }))
  })
}
