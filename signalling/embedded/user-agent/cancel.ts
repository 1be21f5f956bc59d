import { notifyRequest } from '../app/app-notifications.js'
import { cdrStop } from '../app/cdr.js'
import type { Core } from '../core.js'
import { NO_BODY, type SipRequest } from '../message/sip-message.js'
import { serverTransactionKey } from '../transaction/server-transaction.js'
import type { IncomingRequest, ReceivedRequest } from './pending-requests.js'
import { reject } from './request-dispatch.js'
import { finishIncoming, replyFinal } from './responses.js'

/* Ends INVITEs of peers without a final response: by their CANCEL, or for a reason of the server. */

export function receiveCancel(core: Core, received: ReceivedRequest): void {
  const { request, essentials } = received
  const key = serverTransactionKey(request, essentials, 'INVITE')
  const relay = core.responseContexts.get(key)
  if (relay) {
    reject(core, received, 200)
    relay.cancel(request)
    return
  }
  const invite = core.invites.get(key)
  if (invite) {
    replyFinal(core, received.transaction, request, essentials, 200, invite.localTag)
    terminateInvite(core, invite, 487, request)
    return
  }
  // RFC 3261 9.2: after a final response a CANCEL has no effect, but it matches and gets a 200.
  reject(core, received, core.serverTransactions.has(key) ? 200 : 481)
}

/**
 * Answers an INVITE on behalf of its application and notifies the application with a CANCEL, the only form it
 * understands.
 */
export function terminateInvite(
  core: Core,
  invite: IncomingRequest,
  status: number,
  cancel: SipRequest = cancelOf(invite),
  reason = '',
): void {
  const { app, flow, id, dialog, early } = invite
  finishIncoming(core, invite, status, [], reason)
  if (dialog === null) cdrStop(core, 'network', 'call-canceled', cancel)
  notifyRequest(core, app, cancel, flow, id, (dialog ?? early)?.id ?? '', null)
}

function cancelOf(invite: IncomingRequest): SipRequest {
  const kept = new Set(['Via', 'From', 'To', 'Call-ID', 'Max-Forwards'])
  const headers = invite.request.headers.filter((header) => kept.has(header.name))
  headers.push({ name: 'CSeq', value: `${invite.essentials.cseq} CANCEL` })
  return { kind: 'request', method: 'CANCEL', uri: invite.request.uri, headers, body: NO_BODY }
}
