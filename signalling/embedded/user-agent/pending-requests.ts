import type { Timer } from '../../../media/base/clock.js'
import type { App } from '../app/control-port.js'
import type { Dialog } from '../dialog/dialog.js'
import type { Essentials } from '../message/message-validation.js'
import type { Header, SipRequest } from '../message/sip-message.js'
import type { ServerTransaction } from '../transaction/server-transaction.js'
import type { Flow } from '../transport/transport.js'

/** An application's request on its way to a peer, until its final response. */
export interface PendingRequest {
  readonly app: App | null
  /** Wants the INVITE cancelled; the CANCEL as it is or will be sent, null when it is too late. */
  cancel(headers: readonly Header[]): { readonly bytes: Buffer; readonly flow: Flow } | null
  /** Cancels it if that is still possible. */
  abort(): void
}

/** A new request with its transaction, not yet anybody's. */
export interface ReceivedRequest {
  readonly key: string
  readonly request: SipRequest
  readonly essentials: Essentials
  readonly flow: Flow
  readonly transaction: ServerTransaction
}

/** A peer's request on its way through an application, until its final response. */
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
  /** Our To tag: made with the first response above 100, or chosen by the application. */
  localTag: string | null
  /** The early dialog of an INVITE outside a dialog, from its first tagged response on. */
  early: Dialog | null
  /** The application's time is over when this runs. */
  deadline: Timer | null
}

/** A peer's request this server forwards, until it is over. */
export interface ForwardedRequest {
  /** The sender's CANCEL; headers like Reason go along. */
  cancel(cancel: SipRequest): void
}
