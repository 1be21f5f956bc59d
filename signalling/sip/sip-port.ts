import type { EngineError } from '../../media/base/errors.js'
import type { Credentials, DigestClient } from '../trunk/digest-client.js'
import type { InfoDigit } from './info-dtmf.js'

/*
 * What legs need of a SIP server. `sip-server.ts` implements it and is the only file that imports
 * drachtio-srf.
 */

export type DialogEnd =
  /** The peer sent BYE. */
  | { readonly kind: 'peer' }
  /** The SIP server ended it: `ACK timeout`, `Session timer expired`. */
  | { readonly kind: 'server'; readonly reason: string }
  /** The connection to the SIP server was lost, and the dialog with it. */
  | { readonly kind: 'lost' }

/** Answers a re-INVITE or UPDATE, once; `sdp` counts only with 200. */
export type OfferReply = (status: 200 | 400 | 488 | 500, sdp: string, reason?: string) => void

export interface DialogHandlers {
  /** The ACK to our 200 arrived; `body` is '' or the answer to our offer. */
  acknowledged(body: string): void
  /** The peer renegotiates; `body` is '' when it asks for our offer. */
  offered(body: string, reply: OfferReply): void
  /** A DTMF digit arrived by INFO. */
  digit?(key: InfoDigit): void
  /** The dialog ended. Once, and never after our own `bye`. */
  ended(why: DialogEnd): void
}

export interface SipDialog {
  readonly callId: string
  /** Sends BYE. Idempotent. Resolves when it was answered or given up; never rejects. */
  bye(): Promise<void>
  /**
   * Sends a re-INVITE and resolves with the peer's answer. Rejects with EngineError `sip_refused`
   * (context.status) or `sip_failed`.
   */
  modify(sdp: string): Promise<string>
}

/** A received INVITE without a final response. */
export interface IncomingInvite {
  readonly callId: string
  /** Request-URI, as received. */
  readonly uri: string
  /** User part of the Request-URI, unescaped; '' when there is none. `from` is that of From. */
  readonly to: string
  readonly from: string
  readonly sourceAddress: string
  readonly sourcePort: number
  readonly transport: string
  /** The SDP offer, or '' (delayed offer). */
  readonly body: string
  header(name: string): string | null
  /** Sets the credentials for challenges to our requests inside the call, once it is accepted. */
  identify(credentials: Credentials): void
  /** True after a final response, a CANCEL or the loss of the connection. */
  readonly over: boolean
  /**
   * Registers a listener, called once when the peer cancels (487 was sent) or the connection is lost before
   * our final response.
   */
  onWithdrawn(listener: (why: 'cancelled' | 'lost') => void): void
  ring(): void
  refuse(status: number, headers?: Readonly<Record<string, string | string[]>>): void
  /**
   * Sends 200. Resolves when it is sent (the ACK arrives at `handlers.acknowledged`). Rejects with
   * EngineError `sip_failed` when it could not be sent or a CANCEL arrived first.
   */
  accept(sdp: string, handlers: DialogHandlers): Promise<SipDialog>
}

export interface InviteRequest {
  /** Request-URI; also the destination of the INVITE. */
  readonly uri: string
  readonly callId: string
  /** Calling number: the user part of From and Contact. */
  readonly from: string
  readonly transport: 'udp' | 'tcp' | 'tls'
  readonly body: string
  /** Host part of From; our own address when absent. */
  readonly fromDomain?: string
  readonly headers?: Readonly<Record<string, string>>
  /** Answers challenges. */
  readonly credentials?: Credentials
}

export interface InviteHandlers extends DialogHandlers {
  /** A provisional response above 100 arrived. */
  progress(status: number): void
  /** A 200 arrived and was acknowledged. `body` is its SDP. */
  answered(dialog: SipDialog, body: string): void
  /** The INVITE ended unanswered: EngineError `sip_refused` (context.status) or `sip_failed`. */
  failed(error: EngineError): void
}

export interface OutgoingInvite {
  /**
   * Cancels the INVITE. Idempotent. `failed` follows; a 200 that crosses the CANCEL is acknowledged and its
   * dialog ended.
   */
  cancel(): void
}

/** A request outside of any dialog: OPTIONS or REGISTER. */
export interface OutOfDialogRequest {
  readonly method: 'OPTIONS' | 'REGISTER'
  /** Request-URI; also the destination of the request. */
  readonly uri: string
  readonly callId: string
  /** CSeq of the first attempt. */
  readonly cseq: number
  /** Sent with the first attempt and with those that carry credentials. */
  readonly headers: Readonly<Record<string, string>>
  /** Answers challenges, and keeps them for the next request. */
  readonly digest: DigestClient | null
}

/** The final response to a request outside of any dialog. */
export interface OutOfDialogResponse {
  readonly status: number
  /** True when our own SIP server made the response: no answer (408) or unreachable (503). */
  readonly local: boolean
  /** CSeq of the last attempt. */
  readonly cseq: number
  header(name: string): string | null
}

export interface SipServer {
  /** Addresses the server listens on, as `udp/127.0.0.1:5060`; empty while disconnected. */
  readonly endpoints: readonly string[]
  readonly connected: boolean
  /** Sets the handler of well-formed INVITEs outside of dialogs; without one they get 503. */
  onInvite(handler: ((invite: IncomingInvite) => void) | null): void
  invite(request: InviteRequest, handlers: InviteHandlers): OutgoingInvite
  /**
   * Resolves with any final response; rejects with EngineError `sip_failed` when the request could not be
   * sent.
   */
  request(request: OutOfDialogRequest): Promise<OutOfDialogResponse>
  /**
   * Registers a listener for every new connection to the server, the first one included. Returns its removal.
   */
  onConnected(listener: () => void): () => void
  /** Closes the connection; open dialogs and INVITEs are reported as lost. Idempotent. */
  close(): Promise<void>
}
