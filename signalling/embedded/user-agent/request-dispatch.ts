import { notifyRequest } from '../app/app-notifications.js'
import type { App } from '../app/control-port.js'
import type { Core } from '../core.js'
import type { Dialog } from '../dialog/dialog.js'
import { MIN_SE_S } from '../dialog/session-expires.js'
import { newTag, newUuid } from '../ids.js'
import { RETRY_AFTER_S } from '../limits.js'
import { type Header, METHODS, serialise } from '../message/sip-message.js'
import type { IncomingRequest, ReceivedRequest } from './pending-requests.js'
import { finishIncoming, replyFinal, responseTo } from './responses.js'

/* A new request is either answered by the server itself or passed to an application. */

export const RETRY_AFTER: readonly Header[] = [{ name: 'Retry-After', value: String(RETRY_AFTER_S) }]
export const ALLOW: readonly Header[] = [{ name: 'Allow', value: [...METHODS].join(', ') }]
export const MIN_SE: readonly Header[] = [{ name: 'Min-SE', value: String(MIN_SE_S) }]

export function reject(
  core: Core,
  received: ReceivedRequest,
  status: number,
  extra: readonly Header[] = [],
): void {
  replyFinal(core, received.transaction, received.request, received.essentials, status, newTag(), extra)
}

/** Rejects one of two crossing offers, to be repeated after 0 to 10 s (RFC 3261 14.2, RFC 3311 5.2). */
export function rejectRetryLater(core: Core, received: ReceivedRequest): void {
  reject(core, received, 500, [{ name: 'Retry-After', value: String(Math.floor(Math.random() * 11)) }])
}

/**
 * Sends `100 Trying`, without a To tag. Sends none to a source that may be forged: its final response is not kept, so
 * that the sender must repeat the INVITE until it gets that response.
 */
export function sendTrying(received: ReceivedRequest): void {
  if (received.transaction.forgettable) return
  received.transaction.respond(100, serialise(responseTo(received.request, 100, '', null)))
}

/**
 * Passes a request to an application and starts its response timer. `id` is the transaction id for the
 * application: a new one, except for an UPDATE during a pending INVITE.
 */
export function dispatchToApp(
  core: Core,
  received: ReceivedRequest,
  app: App,
  dialog: Dialog | null,
  id: string = newUuid(),
): void {
  const { key, request, essentials, flow, transaction } = received
  const { method } = request
  const incoming: IncomingRequest = {
    id,
    request,
    essentials,
    flow,
    key,
    transaction,
    app,
    dialog,
    localTag: null,
    early: null,
    deadline: null,
  }
  if (method === 'UPDATE') {
    core.updates.set(id, incoming)
    if (dialog) dialog.pendingRemoteUpdate = true
  } else {
    core.incoming.set(id, incoming)
  }
  if (method === 'INVITE') {
    core.invites.set(key, incoming)
    if (dialog) dialog.pendingRemoteInvite = id
    else core.pendingBySource.add(flow.remote.address)
  }
  dialog?.unansweredRequests.add(id)
  const ms = method === 'INVITE' ? core.timers.inviteFirstResponse : core.timers.requestFinalResponse
  incoming.deadline = core.clock.after(ms, () => finishIncoming(core, incoming, 500))
  const receivedOn = dialog === null ? flow.transport.advertised(flow.remote.address) : null
  notifyRequest(core, app, request, flow, id, dialog?.id ?? '', receivedOn)
}
