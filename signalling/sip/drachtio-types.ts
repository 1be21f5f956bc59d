import type { EventEmitter } from 'node:events'
import type { Socket } from 'node:net'

/*
 * The parts of drachtio-srf we use, as they really are: its own declarations leave out callbacks,
 * options and SipError.
 */

export interface RawMessage {
  readonly body: string | undefined
  get(name: string): string | undefined
  has(name: string): boolean
}

export interface RawRequest extends RawMessage, EventEmitter {
  readonly method: string
  readonly uri: string
  /** `network`, or `application` for a request the server itself made. */
  readonly source: string
  readonly source_address: string
  readonly source_port: number
  readonly protocol: string
  cancel(callback: (error: unknown) => void): void
}

export interface RawResponse extends RawMessage {
  readonly status: number
  readonly reason: string
  readonly finalResponseSent: boolean
  /** The request a received one answers, as it was sent. */
  readonly req?: RawRequest
  /** Of a received one; empty when the server made it itself. */
  readonly source_address: string | undefined
  readonly source_port: number | undefined
  send(
    status: number,
    options?: { readonly headers?: Readonly<Record<string, string | string[]>>; readonly body?: string },
    callback?: (error: unknown, sent?: RawMessage) => void,
  ): void
}

export interface RawDialog extends EventEmitter {
  readonly id: string
  readonly type: 'uac' | 'uas'
  /** What it sends by; all three belong to one connection to the server. */
  srf: RawSrf
  agent: unknown
  readonly req: { socket: Socket }
  /** Of a call out: its 200. */
  readonly res: { get(name: string): string | undefined }
  readonly sip: { readonly callId: string }
  local: { sdp: string }
  remote: { sdp: string | undefined }
  destroy(options: object, callback: (error: unknown) => void): void
  request(
    options: { readonly method: string; readonly body?: string; readonly headers?: object },
    callback: (error: unknown, response?: RawResponse) => void,
  ): void
}

export interface RawSrf extends EventEmitter {
  readonly app: { readonly client?: unknown }
  /** Requests of the peer in that dialog reach it from now on. */
  addDialog(dialog: RawDialog): void
  connect(options: {
    readonly host: string
    readonly port: number
    readonly secret: string
    readonly reconnect: { readonly maxAttempts: number }
  }): void
  use(method: string, handler: (req: RawRequest, res: RawResponse) => void): void
  createUAS(
    req: RawRequest,
    res: RawResponse,
    options: { readonly localSdp: string; readonly headers: Record<string, string> },
    callback: (error: unknown, dialog?: RawDialog) => void,
  ): void
  createUAC(
    uri: string,
    options: {
      readonly localSdp: string
      readonly headers: Record<string, string>
      readonly proxy?: string
    },
    progress: {
      readonly cbRequest: (error: unknown, req?: RawRequest) => void
      readonly cbProvisional: (response: RawResponse) => void
    },
    callback: (error: unknown, dialog?: RawDialog) => void,
  ): void
  request(
    uri: string,
    options: {
      readonly method: string
      readonly headers: Record<string, string>
      readonly proxy?: string
    },
    callback: (error: unknown, req?: RawRequest) => void,
  ): void
}

/** A final answer other than success, as the library reports it. */
export function statusOf(error: unknown): number | null {
  if (typeof error === 'object' && error !== null && 'status' in error && typeof error.status === 'number')
    return error.status
  return null
}

/** The answer behind a `statusOf`. */
export function responseOf(error: unknown): RawResponse | null {
  if (typeof error !== 'object' || error === null || !('res' in error)) return null
  const { res } = error
  return typeof res === 'object' && res !== null ? (res as RawResponse) : null
}
