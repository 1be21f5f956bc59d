import type { Core } from '../core.js'
import type { Early } from '../dialog/early-dialogs.js'
import { acknowledges } from '../dialog/prack.js'
import { tooShort } from '../dialog/session-expires.js'
import { endInvite } from './cancel.js'
import type { Arrival } from './pending-requests.js'
import { hand, MIN_SE, RETRY_AFTER, reject, rejectForNow } from './request-dispatch.js'

/** Methods that in an early dialog reach the application like new requests. */
const AS_NEW: ReadonlySet<string> = new Set(['INFO', 'NOTIFY', 'OPTIONS', 'MESSAGE', 'PUBLISH', 'SUBSCRIBE'])

/** A request inside a dialog whose INVITE has no final response yet. */
export function receiveEarly(core: Core, arrival: Arrival, early: Early): void {
  const { dialog, incoming } = early
  const { request, essentials } = arrival
  if (essentials.cseq < dialog.remoteSeq) {
    reject(core, arrival, 500)
    return
  }
  dialog.remoteSeq = essentials.cseq
  const { method } = request
  if (!dialog.app.alive) {
    reject(core, arrival, 481)
  } else if (method === 'BYE' && incoming) {
    // The caller may end an early dialog (RFC 3261 15); the callee may not.
    reject(core, arrival, 200)
    endInvite(core, incoming, 487)
  } else if (method === 'PRACK' && acknowledges(dialog, request)) {
    hand(core, arrival, dialog.app, dialog)
  } else if (method === 'UPDATE') {
    receiveUpdate(core, arrival, early)
  } else if (method === 'INVITE') {
    reject(core, arrival, 500, RETRY_AFTER)
  } else if (AS_NEW.has(method)) {
    hand(core, arrival, dialog.app, null)
  } else {
    reject(core, arrival, 481)
  }
}

/**
 * An UPDATE while the INVITE is pending goes by the INVITE's transaction id: drachtio-srf finds the
 * call by it. So there can be one at a time (RFC 3311 5.2 wants 500 for a second one anyway).
 */
function receiveUpdate(core: Core, arrival: Arrival, early: Early): void {
  const { dialog, incoming } = early
  const id = incoming?.id ?? dialog.transactionId
  if (core.updates.has(id)) rejectForNow(core, arrival)
  else if (dialog.localUpdates > 0 && arrival.request.body.length > 0) reject(core, arrival, 491)
  else if (tooShort(arrival.request)) reject(core, arrival, 422, MIN_SE)
  else hand(core, arrival, dialog.app, dialog, id)
}
