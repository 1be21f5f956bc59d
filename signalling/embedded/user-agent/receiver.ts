import { notifyRequest } from '../app/app-notifications.js'
import type { Core } from '../core.js'
import { UNKNOWN_SHARE } from '../guard/connection-quota.js'
import { isSpam } from '../guard/spammer-list.js'
import { type Essentials, validateMessage } from '../message/message-validation.js'
import { paramOf, splitList } from '../message/sip-header.js'
import {
  headerOf,
  headersOf,
  type SipMessage,
  type SipRequest,
  type SipResponse,
} from '../message/sip-message.js'
import { parseSip } from '../message/sip-parser.js'
import { forwardAck, forwardInDialog, isProxiedCall } from '../proxy/in-dialog-forwarding.js'
import { clientTransactionKey } from '../transaction/client-transaction.js'
import { ServerTransaction, serverTransactionKey } from '../transaction/server-transaction.js'
import { bindingResponse, isBindingRequest } from '../transport/stun.js'
import { defaultPort, type Flow } from '../transport/transport.js'
import { receiveCancel } from './cancel.js'
import type { ReceivedRequest } from './pending-requests.js'
import { receiveInDialog, receiveOutOfDialog } from './received-request.js'
import { RETRY_AFTER, reject } from './request-dispatch.js'
import { replyStateless } from './responses.js'

/*
 * Receives messages of peers: parses them and matches them to transactions. New requests go on to
 * `received-request.ts`.
 */

/** Shorter unreadable datagrams (bytes) are keep-alives (CRLF, zeros, STUN) and not an offence. */
const KEEP_ALIVE_BYTES = 32

/** Handles one message from the network. Never throws, whatever a peer sends. */
export function receive(core: Core, bytes: Buffer, flow: Flow): void {
  if (bytes[0] === 0 && flow.protocol === 'udp' && isBindingRequest(bytes)) {
    if (core.guard.checkKeepAlive(flow.remote.address) === 'serve')
      flow.send(bindingResponse(bytes, flow.remote))
    return
  }
  const parsed = parseSip(bytes, core.limits)
  if (!parsed.ok) {
    if (!parsed.request && bytes.length < KEEP_ALIVE_BYTES) return
    const verdict = core.guard.checkMalformed(
      flow.remote.address,
      parsed.status === 513 ? 'oversize' : 'malformed',
      flow.reliable,
    )
    if (parsed.request && verdict === 'refuse') {
      answerInvalid(core, parsed.request, flow, parsed.status, parsed.reason)
    }
    return
  }
  const { message } = parsed
  const validated = validateMessage(message)
  if (message.kind === 'response') {
    if (validated.ok) receiveResponse(core, message, validated.essentials, flow)
    return
  }
  if (!validated.ok) {
    if (core.guard.checkMalformed(flow.remote.address, 'malformed', flow.reliable) !== 'refuse') return
    answerInvalid(core, message, flow, validated.status, validated.reason)
    return
  }
  const { essentials } = validated
  const back = returnFlow(essentials, flow)
  receiveRequest(core, withSource(message, essentials, back), essentials, back, bytes.length)
}

/** Answers a stream that lost its framing, before the connection closes. */
export function receiveBrokenStream(
  core: Core,
  status: 400 | 413 | 513,
  reason: string,
  head: Buffer | null,
  flow: Flow,
): void {
  const verdict = core.guard.checkMalformed(
    flow.remote.address,
    status === 400 ? 'malformed' : 'oversize',
    flow.reliable,
  )
  if (head === null || verdict !== 'refuse') return
  const parsed = parseSip(head, core.limits)
  const request = parsed.ok ? parsed.message : parsed.request
  if (request?.kind === 'request') answerInvalid(core, request, flow, status, reason)
}

/** Answers an invalid request if it has a Via; without one no response is possible. */
function answerInvalid(core: Core, request: SipRequest, flow: Flow, status: number, reason: string): void {
  if (headerOf(request, 'Via') === null) return
  replyStateless(core, request, flow, status, reason)
}

function receiveResponse(core: Core, response: SipResponse, essentials: Essentials, flow: Flow): void {
  const { via, cseqMethod } = essentials
  const transaction =
    via.branch === null
      ? undefined
      : core.clientTransactions.get(clientTransactionKey(via.branch, cseqMethod))
  // More Vias than in the request: the response is meant for another element (RFC 3261 8.1.3.3).
  if (transaction && viaCount(response) <= viaCount(transaction.request)) {
    transaction.receive(response, essentials, flow)
  }
}

function viaCount(message: SipMessage): number {
  return headersOf(message, 'Via').reduce((count, line) => count + splitList(line).length, 0)
}

function receiveRequest(
  core: Core,
  request: SipRequest,
  essentials: Essentials,
  flow: Flow,
  size: number,
): void {
  const { method } = request
  if (core.spammers && essentials.toTag === null && isSpam(core.spammers, request, essentials)) {
    if (core.spammers.action === 'reject') replyStateless(core, request, flow, 603)
    return
  }
  if (method === 'ACK') {
    receiveAck(core, request, essentials, flow)
    return
  }
  const key = serverTransactionKey(request, essentials, method)
  const existing = core.serverTransactions.get(key)
  if (existing) {
    existing.onRetransmission()
    return
  }
  const { address } = flow.remote
  const inCall = belongsToCall(core, request, essentials)
  if (inCall) {
    const ends = method === 'BYE' || method === 'CANCEL'
    if (!ends && core.callTransactions.of(essentials.callId) >= core.limits.transactionsPerCall) {
      replyStateless(core, request, flow, 503, '', RETRY_AFTER)
      return
    }
  } else {
    const verdict = core.guard.checkRequest(address, request, essentials, flow.reliable)
    if (verdict === 'ignore') return
    if (verdict === 'refuse' || core.serverTransactions.size >= transactionsFor(core, address)) {
      replyStateless(core, request, flow, 503, '', RETRY_AFTER)
      return
    }
  }
  // Bytes sent to a possibly forged address are limited by the bytes received from it.
  const bounded = flow.protocol === 'udp' && !core.guard.isExempt(address)
  const isForgettable = () => bounded && !inCall && !core.guard.isTrusted(address)
  const merging = essentials.toTag === null && method !== 'CANCEL' ? mergeKey(essentials) : null
  const transaction = new ServerTransaction(
    method === 'INVITE',
    flow,
    core.clock,
    core.timers,
    bounded ? size : null,
    {
      onUnacknowledged: () => core.log.debug({ callId: essentials.callId }, 'sip.failure_unacknowledged'),
      onEnd: () => {
        if (core.serverTransactions.delete(key) && inCall) core.callTransactions.remove(essentials.callId)
        if (merging !== null && core.mergedRequests.get(merging) === key) core.mergedRequests.delete(merging)
      },
      isForgettable,
    },
  )
  core.serverTransactions.set(key, transaction)
  if (inCall) core.callTransactions.add(essentials.callId)
  const received: ReceivedRequest = { key, request, essentials, flow, transaction }
  if (method === 'CANCEL') {
    receiveCancel(core, received)
  } else if (merging !== null && isMerged(core, merging)) {
    // The same request arrived on a second path (RFC 3261 8.2.2.2).
    reject(core, received, 482)
  } else if (essentials.toTag !== null) {
    if (isProxiedCall(core, request, essentials)) forwardInDialog(core, received)
    else receiveInDialog(core, received, essentials.toTag)
  } else {
    if (merging !== null) core.mergedRequests.set(merging, key)
    receiveOutOfDialog(core, received)
  }
}

/** Returns the number of server transactions above which a new request of a source is refused. */
function transactionsFor({ guard, limits }: Core, address: string): number {
  const known = guard.isExempt(address) || guard.isTrusted(address)
  return known ? limits.transactions : limits.transactions * UNKNOWN_SHARE
}

function isMerged(core: Core, merging: string): boolean {
  const key = core.mergedRequests.get(merging)
  const other = key === undefined ? undefined : core.serverTransactions.get(key)
  return other !== undefined && !other.refused
}

function mergeKey({ callId, fromTag, cseq, cseqMethod }: Essentials): string {
  return `${cseqMethod}|${cseq}|${fromTag}|${callId}`
}

/**
 * Returns whether a request belongs to an existing call. Such requests are served even under overload or a
 * ban.
 */
function belongsToCall(core: Core, request: SipRequest, essentials: Essentials): boolean {
  const { callId, fromTag, toTag } = essentials
  if (request.method === 'CANCEL')
    return core.serverTransactions.has(serverTransactionKey(request, essentials, 'INVITE'))
  if (toTag === null) return false
  return (
    core.dialogs.match(callId, fromTag, toTag) !== null ||
    core.earlyDialogs.match(callId, fromTag, toTag) !== null ||
    isProxiedCall(core, request, essentials)
  )
}

function receiveAck(core: Core, request: SipRequest, essentials: Essentials, flow: Flow): void {
  const transaction = core.serverTransactions.get(serverTransactionKey(request, essentials, 'INVITE'))
  if (transaction && !transaction.accepted) {
    transaction.onAck()
    return
  }
  if (essentials.toTag === null) return
  const dialog = core.dialogs.match(essentials.callId, essentials.fromTag, essentials.toTag)
  if (dialog === null && isProxiedCall(core, request, essentials)) {
    forwardAck(core, request)
    return
  }
  const answer = dialog?.okRetransmitters.get(essentials.cseq)
  // Without a pending retransmission this is a repeated ACK.
  if (!dialog || !answer) return
  answer.stop()
  dialog.okRetransmitters.delete(essentials.cseq)
  if (flow.reliable) dialog.connection = flow
  notifyRequest(core, dialog.app, request, flow, dialog.transactionId, dialog.id, null)
}

/**
 * Returns the flow for the responses to a request (RFC 3261 18.2.2). Without `rport` it leads to the port of the Via.
 * That differs from the source port when a sender has a socket for each direction. Behind a NAT, where the Via has
 * another address than the source, it leads to the source.
 */
function returnFlow({ via }: Essentials, flow: Flow): Flow {
  const { address, port } = flow.remote
  const wanted = via.port ?? defaultPort('udp')
  if (flow.atPort === undefined || wanted === port || via.host !== address) return flow
  return paramOf(via.params, 'rport') === null ? flow.atPort(wanted) : flow
}

/** Returns the request with the source address of the sender in its top Via (RFC 3261 18.2.1, RFC 3581). */
function withSource(request: SipRequest, essentials: Essentials, flow: Flow): SipRequest {
  const { via } = essentials
  const { address, port } = flow.remote
  const wantsPort = flow.protocol === 'udp' || paramOf(via.params, 'rport') !== null
  const addReceived = via.host !== address
  if (!wantsPort && !addReceived) return request
  const at = request.headers.findIndex((header) => header.name === 'Via')
  const line = request.headers[at]
  if (line === undefined) return request
  const [first = '', ...rest] = splitList(line.value)
  let top = first
  if (wantsPort) top = `${top.replace(/;\s*rport(?:\s*=\s*\d*)?(?=[;,\s]|$)/i, '')};rport=${port}`
  if (addReceived) top = `${top.replace(/;\s*received\s*=\s*[^;,\s]*/i, '')};received=${address}`
  const headers = [...request.headers]
  headers[at] = { name: 'Via', value: [top, ...rest].join(', ') }
  return { ...request, headers }
}
