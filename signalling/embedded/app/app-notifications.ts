import type { Core } from '../core.js'
import { type SipRequest, serialise } from '../message/sip-message.js'
import type { Flow, SocketAddress } from '../transport/transport.js'
import type { App } from './control-port.js'

/*
 * The messages to an application: `sip` notifications and `response`s to its commands. Token
 * positions are part of the protocol.
 */

/** A request from the network. `receivedOn` is set for new requests outside a dialog only. */
export function notifyRequest(
  core: Core,
  app: App,
  request: SipRequest,
  flow: Flow,
  transactionId: string,
  dialogId: string,
  receivedOn: SocketAddress | null,
): void {
  const bytes = serialise(readable(request))
  const { address, port } = flow.remote
  const local = receivedOn === null ? '' : `|${receivedOn.address}|${receivedOn.port}`
  app.send(
    `sip|network|${bytes.length}|${protocolName(flow)}|${address}|${port}|${timeOfDay(core)}|${transactionId}|${dialogId}${local}|`,
    bytes,
  )
}

/** A response from the network, to a request of that application. */
export function notifyResponse(
  core: Core,
  app: App,
  bytes: Buffer,
  flow: Flow,
  transactionId: string,
  dialogId: string,
): void {
  const { address, port } = flow.remote
  app.send(
    `sip|network|${bytes.length}|${protocolName(flow)}|${address}|${port}|${timeOfDay(core)}|${transactionId}|${dialogId}|`,
    bytes,
  )
}

/** A response nobody sent: the failure of a request as the application sees it. */
export function notifyFailure(
  core: Core,
  app: App,
  bytes: Buffer,
  protocol: string,
  transactionId: string,
  dialogId: string,
): void {
  app.send(`sip|network|0|${protocol}||0|${timeOfDay(core)}|${transactionId}|${dialogId}|`, bytes)
}

/** A request the server made itself, for information. */
export function notifyUnsolicited(core: Core, app: App, bytes: Buffer, flow: Flow, dialogId: string): void {
  const { address, port } = sentFrom(flow)
  app.send(
    `sip|application|${bytes.length}|${protocolName(flow)}|${address}|${port}|${timeOfDay(core)}|unsolicited|${dialogId}|`,
    bytes,
  )
}

export function rejectCommand(app: App, messageId: string, why: string): void {
  app.send(`response|${messageId}|NOK|${why}`, null)
}

/** The echo of a request that was sent. */
export function confirmRequestSent(
  core: Core,
  app: App,
  messageId: string,
  bytes: Buffer,
  flow: Flow,
  transactionId: string,
): void {
  const { address, port } = sentFrom(flow)
  app.send(
    `response|${messageId}|OK|application|${bytes.length}|${protocolName(flow)}|${address}|${port}|${timeOfDay(core)}|${transactionId}|Msg sent:|`,
    bytes,
  )
}

/** The echo of a response that was sent; note the empty token the request form does not have. */
export function confirmResponseSent(
  core: Core,
  app: App,
  messageId: string,
  bytes: Buffer,
  flow: Flow,
  transactionId: string,
  dialogId: string,
): void {
  const { address, port } = flow.remote
  app.send(
    `response|${messageId}|OK|application|${bytes.length}|${protocolName(flow)}|${address}|${port}|${timeOfDay(core)}|${transactionId}|${dialogId}||Msg sent:|`,
    bytes,
  )
}

/** The final response of one destination of a `proxy` command; more may follow. */
export function reportBranchResponse(
  core: Core,
  app: App,
  messageId: string,
  bytes: Buffer,
  flow: Flow,
): void {
  const { address, port } = flow.remote
  app.send(
    `response|${messageId}|OK|network|${bytes.length}|${protocolName(flow)}|${address}|${port}|${timeOfDay(core)}|||continue`,
    bytes,
  )
}

/** The end of a `proxy` command. */
export function confirmProxyDone(app: App, messageId: string): void {
  app.send(`response|${messageId}|OK|done`, null)
}

/** The protocol as applications know it: WebSockets go for TCP, as at drachtio-server. */
function protocolName({ protocol }: Flow): string {
  return protocol === 'ws' || protocol === 'wss' ? 'tcp' : protocol
}

/** Over UDP our own address, over a connection the peer's. */
function sentFrom(flow: Flow): SocketAddress {
  return flow.reliable ? flow.remote : flow.transport.advertised(flow.remote.address)
}

/** drachtio-srf percent-decodes header names: one with `%` could turn into another header. */
function readable(request: SipRequest): SipRequest {
  if (!request.headers.some((header) => header.name.includes('%'))) return request
  return { ...request, headers: request.headers.filter((header) => !header.name.includes('%')) }
}

/** UTC, `HH:MM:SS.uuuuuu`. */
export function timeOfDay(core: Core): string {
  const micros = Math.floor((core.clock.now() % 1) * 1000)
  return `${new Date(core.clock.wall()).toISOString().slice(11, 23)}${String(micros).padStart(3, '0')}`
}
