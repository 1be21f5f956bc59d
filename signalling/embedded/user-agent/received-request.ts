import { cdrAttempt, cdrStop } from '../app/cdr.js'
import type { Core } from '../core.js'
import { dialogId } from '../dialog/dialog.js'
import { acceptPrack } from '../dialog/prack.js'
import { isIntervalTooSmall } from '../dialog/session-expires.js'
import { applyNotifyExpires, holdNotify } from '../dialog/subscription.js'
import { METHODS } from '../message/sip-message.js'
import { schemeRejection, unsupportedRequire } from './capabilities.js'
import { receiveInEarlyDialog } from './early-dialog-request.js'
import type { ReceivedRequest } from './pending-requests.js'
import {
  ALLOW,
  dispatchToApp,
  MIN_SE,
  RETRY_AFTER,
  reject,
  rejectRetryLater,
  sendTrying,
} from './request-dispatch.js'
import { finishIncoming } from './responses.js'

/*
 * What becomes of a peer's request that no transaction knew: an answer of the server's own, or the
 * way to an application.
 */

/** Methods an application may get outside a dialog. */
const NEW_METHODS: ReadonlySet<string> = new Set([
  'INVITE',
  'REGISTER',
  'MESSAGE',
  'OPTIONS',
  'INFO',
  'NOTIFY',
  'SUBSCRIBE',
  'PUBLISH',
])

/** A request without To tag. */
export function receiveOutOfDialog(core: Core, arrival: ReceivedRequest): void {
  const { request, essentials, flow } = arrival
  const { method } = request
  if (!NEW_METHODS.has(method)) {
    if (!METHODS.has(method)) reject(core, arrival, 501, ALLOW)
    else reject(core, arrival, method === 'REFER' ? 405 : 481, method === 'REFER' ? ALLOW : [])
    return
  }
  const scheme = schemeRejection(core, request, flow)
  if (scheme !== null) {
    reject(core, arrival, scheme.status, scheme.headers)
    return
  }
  if (method === 'INVITE') {
    const source = flow.remote.address
    if ((core.pendingBySource.get(source) ?? 0) >= core.limits.pendingPerSource) {
      reject(core, arrival, 503, RETRY_AFTER)
      return
    }
    sendTrying(arrival)
    const existing = core.dialogs.find(dialogId(essentials.callId, essentials.fromTag))
    if (existing) {
      // Our own call came back to us, or a second INVITE for a call that is up.
      reject(core, arrival, existing.role === 'uac' ? 482 : 491)
      return
    }
    if (isIntervalTooSmall(request)) {
      reject(core, arrival, 422, MIN_SE)
      return
    }
  }
  const unsupported = unsupportedRequire(request)
  if (unsupported !== null) {
    reject(core, arrival, 420, unsupported)
    return
  }
  const app = core.nextApp(method)
  if (app === null) {
    reject(core, arrival, 503, core.draining ? RETRY_AFTER : [])
    return
  }
  if (method === 'INVITE') cdrAttempt(core, 'network', request)
  dispatchToApp(core, arrival, app, null)
}

/** A request with a To tag. */
export function receiveInDialog(core: Core, arrival: ReceivedRequest, toTag: string): void {
  const { request, essentials, flow } = arrival
  const { method } = request
  const { callId, fromTag } = essentials
  const dialog = core.dialogs.match(callId, fromTag, toTag)
  if (dialog === null) {
    const early = core.earlyDialogs.match(callId, fromTag, toTag)
    if (early) receiveInEarlyDialog(core, arrival, early)
    else if (!METHODS.has(method)) reject(core, arrival, 501, ALLOW)
    else if (method !== 'NOTIFY' || !holdNotify(core, arrival, toTag)) {
      if (method === 'INVITE') sendTrying(arrival)
      reject(core, arrival, 481)
    }
    return
  }
  if (essentials.cseq < dialog.remoteSeq) {
    // RFC 3261 12.2.2: an older request than the last one.
    reject(core, arrival, 500)
    return
  }
  dialog.remoteSeq = essentials.cseq
  if (!METHODS.has(method)) {
    reject(core, arrival, 501, ALLOW)
    return
  }
  if (isIntervalTooSmall(request)) {
    reject(core, arrival, 422, MIN_SE)
    return
  }
  if (method === 'INVITE') {
    if (dialog.localInvite?.phase === 'open' || dialog.pendingLocalUpdates > 0) {
      reject(core, arrival, 491)
      return
    }
    if (dialog.pendingRemoteInvite !== null || dialog.pendingRemoteUpdate) {
      rejectRetryLater(core, arrival)
      return
    }
    sendTrying(arrival)
  }
  if (method === 'UPDATE' && request.body.length > 0) {
    const { localInvite } = dialog
    if ((localInvite?.phase === 'open' && localInvite.hasOffer) || dialog.pendingLocalUpdates > 0) {
      reject(core, arrival, 491)
      return
    }
    if (dialog.pendingRemoteInvite !== null || dialog.pendingRemoteUpdate) {
      rejectRetryLater(core, arrival)
      return
    }
  }
  if (method === 'PRACK') {
    const fits = acceptPrack(dialog, request)
    if (!fits || request.body.length === 0) {
      // It crossed the 2xx. drachtio-srf would take it for the ACK, and answers none in a call.
      reject(core, arrival, fits ? 200 : 481)
      return
    }
  }
  if (method === 'NOTIFY') applyNotifyExpires(core, dialog, request)
  if (flow.reliable) dialog.connection = flow
  const { app } = dialog
  if (method === 'BYE') {
    core.dialogs.remove(dialog)
    cdrStop(core, 'network', 'normal-release', request)
    // RFC 3261 15.1.2: what was still to be answered in it is over.
    for (const id of [...dialog.unansweredRequests]) {
      const pending = core.incoming.get(id) ?? core.updates.get(id)
      if (pending) finishIncoming(core, pending, 487)
    }
  }
  if (!app.connected) {
    reject(core, arrival, 481)
    return
  }
  dispatchToApp(core, arrival, app, dialog)
}
