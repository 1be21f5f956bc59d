import type { Core } from '../core.js'
import { type SipRequest, serialise } from '../message/sip-message.js'
import type { Flow, SocketAddress } from '../transport/transport.js'
import type { App } from './control-port.js'

/*
 * Messages to an application: `sip` notifications and `response`s to its commands. The token positions are
 * part of the drachtio protocol.
 */

/** Notifies of a request from the network. `receivedOn` is only set for new requests outside a dialog. */
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

/** Notifies of a response from the network to a request of the application. */
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

/** Notifies of a failed request with a response that the server made up. */
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

/** Notifies of a request that the server sent itself. */
export function notifyUnsolicited(core: Core, app: App, bytes: Buffer, flow: Flow, dialogId: string): void {
  const { address, port } = sentFrom(flow)
  app.send(
    `sip|application|${bytes.length}|${protocolName(flow)}|${address}|${port}|${timeOfDay(core)}|unsolicited|${dialogId}|`,
    bytes,
  )
}

export function rejectCommand(app: App, messageId: string, reason: string): void {
  app.send(`response|${messageId}|NOK|${reason}`, null)
}

/** Confirms that a request was sent, with its text. */
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

/** Confirms that a response was sent, with its text. The request form does not have the empty token. */
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

/** Reports the final response of one destination of a `proxy` command; more may follow. */
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

/** Confirms the end of a `proxy` command. */
export function confirmProxyDone(app: App, messageId: string): void {
  app.send(`response|${messageId}|OK|done`, null)
}

/** Returns the protocol name for applications: WebSockets are reported as TCP, as by drachtio-server. */
function protocolName({ protocol }: Flow): string {
  return protocol === 'ws' || protocol === 'wss' ? 'tcp' : protocol
}

/** Returns our own address over UDP, the address of the peer over a connection. */
function sentFrom(flow: Flow): SocketAddress {
  return flow.reliable ? flow.remote : flow.transport.advertised(flow.remote.address)
}

/** Removes header names with `%`: drachtio-srf percent-decodes names, so they could become other headers. */
function readable(request: SipRequest): SipRequest {
  if (!request.headers.some((header) => header.name.includes('%'))) return request
  return { ...request, headers: request.headers.filter((header) => !header.name.includes('%')) }
}

/** Returns the UTC time as `HH:MM:SS.uuuuuu`. */
export function timeOfDay(core: Core): string {
  const micros = Math.floor((core.clock.now() % 1) * 1000)
  return `${new Date(core.clock.wall()).toISOString().slice(11, 23)}${String(micros).padStart(3, '0')}`
}
