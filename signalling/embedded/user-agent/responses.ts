import type { Core } from '../core.js'
import type { Essentials } from '../message/message-validation.js'
import { parseAddress } from '../message/name-addr.js'
import { paramOf } from '../message/sip-header.js'
import { type Header, NO_BODY, type SipRequest, type SipResponse, serialise } from '../message/sip-message.js'
import type { ServerTransaction } from '../transaction/server-transaction.js'
import type { Flow } from '../transport/transport.js'
import type { IncomingRequest } from './pending-requests.js'

/** Reason phrases of responses of the server itself. */
const REASONS: Readonly<Record<number, string>> = {
  100: 'Trying',
  200: 'OK',
  400: 'Bad Request',
  405: 'Method Not Allowed',
  413: 'Request Entity Too Large',
  416: 'Unsupported URI Scheme',
  420: 'Bad Extension',
  422: 'Session Interval Too Small',
  480: 'Temporarily Unavailable',
  408: 'Request Timeout',
  481: 'Call/Transaction Does Not Exist',
  482: 'Loop Detected',
  483: 'Too Many Hops',
  487: 'Request Terminated',
  491: 'Request Pending',
  500: 'Server Internal Error',
  501: 'Not Implemented',
  503: 'Service Unavailable',
  505: 'SIP Version Not Supported',
  513: 'Message Too Large',
  603: 'Decline',
}

/**
 * Builds a response to a request (RFC 3261 8.2.6). Via, From, To, Call-ID, CSeq, Record-Route and Timestamp
 * are copied from the request; `tag` is added to a To without one.
 */
export function responseTo(
  request: SipRequest,
  status: number,
  reason: string,
  tag: string | null,
  extra: readonly Header[] = [],
  body: Buffer = NO_BODY,
): SipResponse {
  const headers: Header[] = []
  for (const header of request.headers) {
    switch (header.name) {
      case 'Via':
      case 'Record-Route':
      case 'From':
      case 'Call-ID':
      case 'CSeq':
      case 'Timestamp':
        headers.push(header)
        break
      case 'To':
        headers.push(tag === null ? header : { name: 'To', value: withTag(header.value, tag) })
    }
  }
  for (const header of extra) headers.push(header)
  return { kind: 'response', status, reason: reason || (REASONS[status] ?? ''), headers, body }
}

/** Returns the value of To with a tag, if it has none. */
export function withTag(to: string, tag: string): string {
  return paramOf(parseAddress(to)?.params ?? '', 'tag') === null ? `${to};tag=${tag}` : to
}

/** Answers without a transaction: invalid requests, overload, unmatched requests. */
export function replyStateless(
  core: Core,
  request: SipRequest,
  flow: Flow,
  status: number,
  reason = '',
  extra: readonly Header[] = [],
): void {
  // RFC 3261 17: an ACK has no response.
  if (request.method === 'ACK') return
  flow.send(serialise(responseTo(request, status, reason, core.statelessTag, extra)))
}

/** Sends a final response of the server itself in a transaction. */
export function replyFinal(
  core: Core,
  transaction: ServerTransaction,
  request: SipRequest,
  essentials: Essentials,
  status: number,
  tag: string | null = null,
  extra: readonly Header[] = [],
  reason = '',
): void {
  const toTag = essentials.toTag === null ? (tag ?? core.statelessTag) : null
  transaction.respond(status, serialise(responseTo(request, status, reason, toTag, extra)))
}

/** Withdraws a request from its application and answers it. */
export function finishIncoming(
  core: Core,
  incoming: IncomingRequest,
  status: number,
  extra: readonly Header[] = [],
  reason = '',
): void {
  removeIncoming(core, incoming)
  replyFinal(
    core,
    incoming.transaction,
    incoming.request,
    incoming.essentials,
    status,
    incoming.localTag,
    extra,
    reason,
  )
}

/**
 * Removes a request from the tables. The application cannot answer it any more, and its early dialog ends.
 */
export function removeIncoming(core: Core, incoming: IncomingRequest): void {
  const { id, dialog, early, request } = incoming
  if (request.method === 'UPDATE') {
    if (core.updates.get(id) !== incoming) return
    core.updates.delete(id)
    if (dialog) dialog.pendingRemoteUpdate = false
  } else if (!core.incoming.delete(id)) {
    return
  }
  dialog?.unansweredRequests.delete(id)
  incoming.deadline?.cancel()
  incoming.deadline = null
  if (dialog?.pendingRemoteInvite === id) dialog.pendingRemoteInvite = null
  if (request.method !== 'INVITE') return
  core.invites.delete(incoming.key)
  if (dialog !== null) {
    dialog.reliableResponses?.stop()
    return
  }
  if (early) {
    core.earlyDialogs.remove(early)
    early.end()
  }
  core.pendingBySource.remove(incoming.flow.remote.address)
}
