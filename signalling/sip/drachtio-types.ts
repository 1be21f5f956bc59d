import type { EventEmitter } from 'node:events'
import type { Socket } from 'node:net'

/*
 * The parts of drachtio-srf that Parley uses. The library's own declarations omit callbacks, options and
 * SipError.
 */

export interface RawMessage {
  readonly body: string | undefined
  get(name: string): string | undefined
  has(name: string): boolean
}

export interface RawRequest extends RawMessage, EventEmitter {
  readonly method: string
  readonly uri: string
  /** `network`, or `application` for a request that the server itself created. */
  readonly source: string
  readonly source_address: string
  readonly source_port: number
  readonly protocol: string
  /** Our listener of a request outside of dialogs, as `address:port`. */
  readonly receivedOn?: string
  cancel(
    options: { readonly headers: Readonly<Record<string, string>> },
    callback: (error: unknown) => void,
  ): void
}

export interface RawResponse extends RawMessage {
  readonly status: number
  readonly reason: string
  readonly finalResponseSent: boolean
  /** The request that a received response answers, as it was sent. */
  readonly req?: RawRequest
  /** Set on received responses; empty when the server created the response itself. */
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
  /** The three objects a dialog sends by; all belong to one connection to the server. */
  srf: RawSrf
  agent: unknown
  readonly req: { socket: Socket; readonly source_address?: string }
  /** The 200 of an outgoing call. */
  readonly res: Pick<RawMessage, 'get' | 'body'> & { readonly source_address?: string | undefined }
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
  /** Routes the peer's requests inside that dialog to the dialog object. */
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

/** Returns the status of a final non-2xx response, as the library reports it; null for other errors. */
export function statusOf(error: unknown): number | null {
  if (typeof error === 'object' && error !== null && 'status' in error && typeof error.status === 'number')
    return error.status
  return null
}

/** Returns the response behind a `statusOf`; null when there is none. */
export function responseOf(error: unknown): RawResponse | null {
  if (typeof error !== 'object' || error === null || !('res' in error)) return null
  const { res } = error
  return typeof res === 'object' && res !== null ? (res as RawResponse) : null
}
