import type { Core } from '../core.js'
import { newBranch } from '../ids.js'
import type { Essentials } from '../message/message-validation.js'
import { type SipRequest, serialise } from '../message/sip-message.js'
import { findWays } from '../routing/destination.js'
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
 * Later requests of calls this server proxied and stayed in the path of: forwarded by their Route,
 * without any application.
 */

/** Whether a request inside a dialog is for somebody behind us. */
export function isProxiedCall(core: Core, request: SipRequest, essentials: Essentials): boolean {
  const { callId, fromTag, toTag } = essentials
  if (core.proxiedCalls.size === 0 || toTag === null || !hasOwnTopRoute(core, request)) return false
  if (core.dialogs.match(callId, fromTag, toTag) || core.earlyDialogs.match(callId, fromTag, toTag))
    return false
  return core.proxiedCalls.touch(callId)
}

export function forwardInDialog(core: Core, arrival: ReceivedRequest): void {
  const { request, essentials } = arrival
  const maxForwards = nextMaxForwards(request)
  if (maxForwards === null) {
    reject(core, arrival, 483)
    return
  }
  if (request.method === 'INVITE') sendTrying(arrival)
  const stop = resolveRoute(stripOwnRoutes(core, request))
  const relay = new ResponseContext(core, arrival, {
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

/** The ACK of a 2xx has no transaction; it is sent on as it comes (RFC 3261 16.11). */
export function forwardAck(core: Core, request: SipRequest): void {
  const maxForwards = nextMaxForwards(request)
  const stop = resolveRoute(stripOwnRoutes(core, request))
  const target = parseTarget(stop.nextHop)
  if (maxForwards === null || target === null) return
  findWays(core, { by: 'target', target }, (ways) => {
    const flow = ways.found === 'some' ? ways.open[0]?.open() : undefined
    if (flow === undefined) {
      core.log.debug({ uri: stop.nextHop }, 'no way to forward an ACK')
      return
    }
    const ack = forwardedRequest(request, stop, maxForwards, [], [])
    const via = { name: 'Via', value: viaOf(flow.transport, flow.remote.address, newBranch()) }
    flow.send(serialise({ ...ack, headers: [via, ...ack.headers] }))
  })
}
