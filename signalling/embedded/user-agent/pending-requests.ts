import type { Timer } from '../../../media/base/clock.js'
import type { App } from '../app/control-port.js'
import type { Dialog } from '../dialog/dialog.js'
import type { Essentials } from '../message/message-validation.js'
import type { Header, SipRequest } from '../message/sip-message.js'
import type { ServerTransaction } from '../transaction/server-transaction.js'
import type { Flow } from '../transport/transport.js'

/** A request of an application until its final response. */
export interface PendingRequest {
  readonly app: App | null
  /** Requests a CANCEL of the INVITE. Returns the CANCEL, or null when it is too late. */
  cancel(headers: readonly Header[]): { readonly bytes: Buffer; readonly flow: Flow } | null
  /** Cancels the request if that is still possible. */
  abort(): void
}

/** A new request with its transaction, before an application has it. */
export interface ReceivedRequest {
  readonly key: string
  readonly request: SipRequest
  readonly essentials: Essentials
  readonly flow: Flow
  readonly transaction: ServerTransaction
}

/** A request of a peer at an application, until its final response. */
export interface IncomingRequest {
  readonly id: string
  /** As received, with `received` and `rport` in the top Via. */
  readonly request: SipRequest
  readonly essentials: Essentials
  readonly flow: Flow
  readonly key: string
  readonly transaction: ServerTransaction
  readonly app: App
  /** Set for requests inside a dialog. */
  readonly dialog: Dialog | null
  /** Our To tag: created with the first response above 100, or chosen by the application. */
  localTag: string | null
  /** The early dialog of an INVITE outside a dialog, from its first tagged response on. */
  early: Dialog | null
  /** Ends the request when the application does not answer in time. */
  deadline: Timer | null
}

/** A request of a peer that this server forwards as a proxy. */
export interface ForwardedRequest {
  /** Handles the CANCEL of the sender; headers such as Reason are passed on. */
  cancel(cancel: SipRequest): void
}
