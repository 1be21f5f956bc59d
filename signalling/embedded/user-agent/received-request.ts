import { cdrAttempt, cdrStop } from '../app/cdr.js'
import type { Core } from '../core.js'
import { dialogId } from '../dialog/dialog.js'
import { acceptPrack } from '../dialog/prack.js'
import { isIntervalTooSmall } from '../dialog/session-expires.js'
import { applyNotifyExpires, holdNotify } from '../dialog/subscription.js'
import { type Header, METHODS } from '../message/sip-message.js'
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
 * Handles requests of peers that match no transaction: the server answers them or passes them to an
 * application.
 */

/** Methods that an application may receive outside a dialog. */
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

/** Allow header of a 405 outside of dialogs. */
const ALLOW_NEW: readonly Header[] = [
  { name: 'Allow', value: [...NEW_METHODS, 'ACK', 'BYE', 'CANCEL', 'PRACK', 'UPDATE'].join(', ') },
]

/** Handles a request without a To tag. */
export function receiveOutOfDialog(core: Core, received: ReceivedRequest): void {
  const { request, essentials, flow } = received
  const { method } = request
  if (!NEW_METHODS.has(method)) {
    if (!METHODS.has(method)) reject(core, received, 501, ALLOW)
    else reject(core, received, method === 'REFER' ? 405 : 481, method === 'REFER' ? ALLOW_NEW : [])
    return
  }
  const scheme = schemeRejection(core, request, flow)
  if (scheme !== null) {
    reject(core, received, scheme.status, scheme.headers)
    return
  }
  if (method === 'INVITE') {
    if (core.pendingBySource.of(flow.remote.address) >= core.limits.pendingPerSource) {
      reject(core, received, 503, RETRY_AFTER)
      return
    }
    sendTrying(received)
    const existing = core.dialogs.find(dialogId(essentials.callId, essentials.fromTag))
    if (existing) {
      // Our own call came back to us, or a second INVITE arrived for an established call.
      reject(core, received, existing.role === 'uac' ? 482 : 491)
      return
    }
    if (isIntervalTooSmall(request)) {
      reject(core, received, 422, MIN_SE)
      return
    }
  }
  const unsupported = unsupportedRequire(request)
  if (unsupported !== null) {
    reject(core, received, 420, unsupported)
    return
  }
  const app = core.nextApp(method)
  if (app === null) {
    reject(core, received, 503, core.draining ? RETRY_AFTER : [])
    return
  }
  if (method === 'INVITE') cdrAttempt(core, 'network', request)
  dispatchToApp(core, received, app, null)
}

/** Handles a request with a To tag. */
export function receiveInDialog(core: Core, received: ReceivedRequest, toTag: string): void {
  const { request, essentials, flow } = received
  const { method } = request
  const { callId, fromTag } = essentials
  const dialog = core.dialogs.match(callId, fromTag, toTag)
  if (dialog === null) {
    const early = core.earlyDialogs.match(callId, fromTag, toTag)
    if (early) receiveInEarlyDialog(core, received, early)
    else if (!METHODS.has(method)) reject(core, received, 501, ALLOW)
    else if (method !== 'NOTIFY' || !holdNotify(core, received, toTag)) {
      if (method === 'INVITE') sendTrying(received)
      reject(core, received, 481)
    }
    return
  }
  if (essentials.cseq < dialog.remoteSeq) {
    // RFC 3261 12.2.2: the request is older than the previous one.
    reject(core, received, 500)
    return
  }
  dialog.remoteSeq = essentials.cseq
  if (!METHODS.has(method)) {
    reject(core, received, 501, ALLOW)
    return
  }
  const unsupported = unsupportedRequire(request)
  if (unsupported !== null) {
    reject(core, received, 420, unsupported)
    return
  }
  if (isIntervalTooSmall(request)) {
    reject(core, received, 422, MIN_SE)
    return
  }
  if (method === 'INVITE') {
    if (dialog.localInvite?.phase === 'open' || dialog.pendingLocalUpdates > 0) {
      reject(core, received, 491)
      return
    }
    if (dialog.pendingRemoteInvite !== null || dialog.pendingRemoteUpdate) {
      rejectRetryLater(core, received)
      return
    }
    sendTrying(received)
  }
  if (method === 'UPDATE' && request.body.length > 0) {
    const { localInvite } = dialog
    if ((localInvite?.phase === 'open' && localInvite.hasOffer) || dialog.pendingLocalUpdates > 0) {
      reject(core, received, 491)
      return
    }
    if (dialog.pendingRemoteInvite !== null || dialog.pendingRemoteUpdate) {
      rejectRetryLater(core, received)
      return
    }
  }
  if (method === 'PRACK') {
    const matches = acceptPrack(dialog, request)
    if (!matches || request.body.length === 0) {
      // The PRACK crossed the 2xx. drachtio-srf would mistake it for the ACK, and does not answer it.
      reject(core, received, matches ? 200 : 481)
      return
    }
  }
  if (method === 'NOTIFY') applyNotifyExpires(core, dialog, request)
  if (flow.reliable) dialog.connection = flow
  const { app } = dialog
  if (method === 'BYE') {
    core.dialogs.remove(dialog)
    cdrStop(core, 'network', 'normal-release', request)
    // RFC 3261 15.1.2: pending requests of the dialog end with 487.
    for (const id of [...dialog.unansweredRequests]) {
      const pending = core.incoming.get(id) ?? core.updates.get(id)
      if (pending) finishIncoming(core, pending, 487)
    }
  }
  if (!app.connected) {
    reject(core, received, 481)
    return
  }
  dispatchToApp(core, received, app, dialog)
}
