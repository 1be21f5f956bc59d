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

/*
 * The two ends of a new request: an answer of the server's own, or an application.
 */

export const RETRY_AFTER: readonly Header[] = [{ name: 'Retry-After', value: String(RETRY_AFTER_S) }]
export const ALLOW: readonly Header[] = [{ name: 'Allow', value: [...METHODS].join(', ') }]
export const MIN_SE: readonly Header[] = [{ name: 'Min-SE', value: String(MIN_SE_S) }]

export function reject(
  core: Core,
  arrival: ReceivedRequest,
  status: number,
  extra: readonly Header[] = [],
): void {
  replyFinal(core, arrival.transaction, arrival.request, arrival.essentials, status, newTag(), extra)
}

/** Two offers crossed (RFC 3261 14.2, RFC 3311 5.2): come back after a while of 0 to 10 s. */
export function rejectRetryLater(core: Core, arrival: ReceivedRequest): void {
  reject(core, arrival, 500, [{ name: 'Retry-After', value: String(Math.floor(Math.random() * 11)) }])
}

/** `100 Trying`, without a To tag. */
export function sendTrying(arrival: ReceivedRequest): void {
  arrival.transaction.respond(100, serialise(responseTo(arrival.request, 100, '', null)))
}

/**
 * Passes a request to an application and starts its time. `id` is the transaction id the
 * application sees: a new one, except for an UPDATE while an INVITE is pending.
 */
export function dispatchToApp(
  core: Core,
  arrival: ReceivedRequest,
  app: App,
  dialog: Dialog | null,
  id: string = newUuid(),
): void {
  const { key, request, essentials, flow, transaction } = arrival
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
    const source = flow.remote.address
    core.invites.set(key, incoming)
    if (dialog) dialog.pendingRemoteInvite = id
    else core.pendingBySource.set(source, (core.pendingBySource.get(source) ?? 0) + 1)
  }
  dialog?.unansweredRequests.add(id)
  const ms = method === 'INVITE' ? core.timers.inviteFirstResponse : core.timers.requestFinalResponse
  incoming.deadline = core.clock.after(ms, () => finishIncoming(core, incoming, 500))
  const receivedOn = dialog === null ? flow.transport.advertised(flow.remote.address) : null
  notifyRequest(core, app, request, flow, id, dialog?.id ?? '', receivedOn)
}
