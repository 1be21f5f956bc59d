import type { Core } from '../core.js'
import type { EarlyDialog } from '../dialog/early-dialogs.js'
import { acceptPrack } from '../dialog/prack.js'
import { isIntervalTooSmall } from '../dialog/session-expires.js'
import { terminateInvite } from './cancel.js'
import type { ReceivedRequest } from './pending-requests.js'
import { dispatchToApp, MIN_SE, RETRY_AFTER, reject, rejectRetryLater } from './request-dispatch.js'

/** Methods that in an early dialog reach the application like new requests. */
const AS_NEW: ReadonlySet<string> = new Set(['INFO', 'NOTIFY', 'OPTIONS', 'MESSAGE', 'PUBLISH', 'SUBSCRIBE'])

/** A request inside a dialog whose INVITE has no final response yet. */
export function receiveInEarlyDialog(core: Core, arrival: ReceivedRequest, early: EarlyDialog): void {
  const { dialog, incoming } = early
  const { request, essentials } = arrival
  if (essentials.cseq < dialog.remoteSeq) {
    reject(core, arrival, 500)
    return
  }
  dialog.remoteSeq = essentials.cseq
  const { method } = request
  if (!dialog.app.connected) {
    reject(core, arrival, 481)
  } else if (method === 'BYE' && incoming) {
    // The caller may end an early dialog (RFC 3261 15); the callee may not.
    reject(core, arrival, 200)
    terminateInvite(core, incoming, 487)
  } else if (method === 'PRACK' && acceptPrack(dialog, request)) {
    dispatchToApp(core, arrival, dialog.app, dialog)
  } else if (method === 'UPDATE') {
    receiveUpdate(core, arrival, early)
  } else if (method === 'INVITE') {
    reject(core, arrival, 500, RETRY_AFTER)
  } else if (AS_NEW.has(method)) {
    dispatchToApp(core, arrival, dialog.app, null)
  } else {
    reject(core, arrival, 481)
  }
}

/**
 * An UPDATE while the INVITE is pending goes by the INVITE's transaction id: drachtio-srf finds the
 * call by it. So there can be one at a time (RFC 3311 5.2 wants 500 for a second one anyway).
 */
function receiveUpdate(core: Core, arrival: ReceivedRequest, early: EarlyDialog): void {
  const { dialog, incoming } = early
  const id = incoming?.id ?? dialog.transactionId
  if (core.updates.has(id)) rejectRetryLater(core, arrival)
  else if (dialog.pendingLocalUpdates > 0 && arrival.request.body.length > 0) reject(core, arrival, 491)
  else if (isIntervalTooSmall(arrival.request)) reject(core, arrival, 422, MIN_SE)
  else dispatchToApp(core, arrival, dialog.app, dialog, id)
}
