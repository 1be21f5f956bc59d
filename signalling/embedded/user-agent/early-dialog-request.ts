import type { Core } from '../core.js'
import type { EarlyDialog } from '../dialog/early-dialogs.js'
import { acceptPrack } from '../dialog/prack.js'
import { isIntervalTooSmall } from '../dialog/session-expires.js'
import { terminateInvite } from './cancel.js'
import { unsupportedRequire } from './capabilities.js'
import type { ReceivedRequest } from './pending-requests.js'
import { dispatchToApp, MIN_SE, RETRY_AFTER, reject, rejectRetryLater } from './request-dispatch.js'

/** Methods that reach the application as new requests in an early dialog. */
const AS_NEW: ReadonlySet<string> = new Set(['INFO', 'NOTIFY', 'OPTIONS', 'MESSAGE', 'PUBLISH', 'SUBSCRIBE'])

/** Handles a request inside a dialog whose INVITE has no final response yet. */
export function receiveInEarlyDialog(core: Core, received: ReceivedRequest, early: EarlyDialog): void {
  const { dialog, incoming } = early
  const { request, essentials } = received
  if (essentials.cseq < dialog.remoteSeq) {
    reject(core, received, 500)
    return
  }
  dialog.remoteSeq = essentials.cseq
  const { method } = request
  const unsupported = unsupportedRequire(request)
  if (unsupported !== null) {
    reject(core, received, 420, unsupported)
  } else if (!dialog.app.connected) {
    reject(core, received, 481)
  } else if (method === 'BYE' && incoming) {
    // The caller may end an early dialog (RFC 3261 15); the callee may not.
    reject(core, received, 200)
    terminateInvite(core, incoming, 487)
  } else if (method === 'PRACK' && acceptPrack(dialog, request)) {
    dispatchToApp(core, received, dialog.app, dialog)
  } else if (method === 'UPDATE') {
    receiveUpdate(core, received, early)
  } else if (method === 'INVITE') {
    reject(core, received, 500, RETRY_AFTER)
  } else if (AS_NEW.has(method)) {
    dispatchToApp(core, received, dialog.app, null)
  } else {
    reject(core, received, 481)
  }
}

/**
 * Handles an UPDATE during a pending INVITE. It carries the transaction id of the INVITE, because
 * drachtio-srf finds the call by it. Only one UPDATE at a time is possible (RFC 3311 5.2 requires 500 for a
 * second one).
 */
function receiveUpdate(core: Core, received: ReceivedRequest, early: EarlyDialog): void {
  const { dialog, incoming } = early
  const id = incoming?.id ?? dialog.transactionId
  if (core.updates.has(id)) rejectRetryLater(core, received)
  else if (dialog.pendingLocalUpdates > 0 && received.request.body.length > 0) reject(core, received, 491)
  else if (isIntervalTooSmall(received.request)) reject(core, received, 422, MIN_SE)
  else dispatchToApp(core, received, dialog.app, dialog, id)
}
