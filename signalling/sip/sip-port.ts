import type { EngineError } from '../../media/base/errors.js'
import type { Credentials, DigestClient } from '../trunk/digest-client.js'
import type { InfoDigit } from './info-dtmf.js'

/*
 * What legs need of a SIP server, in our own words. `sip-server.ts` stands behind it and is the only
 * file that knows drachtio-srf.
 */

export type DialogEnd =
  /** The peer's BYE. */
  | { readonly kind: 'peer' }
  /** The SIP server ended it by itself: `ACK timeout`, `Session timer expired`. */
  | { readonly kind: 'server'; readonly reason: string }
  /** The connection to the SIP server has gone, and the dialog with it. */
  | { readonly kind: 'lost' }

/** Answers a re-INVITE or UPDATE, once; `sdp` only with 200. */
export type OfferReply = (status: 200 | 400 | 488 | 500, sdp: string, reason?: string) => void

export interface DialogHandlers {
  /** An ACK to a 200 of ours came; `body` is '' or the answer to an offer we made. */
  acknowledged(body: string): void
  /** The peer renegotiates; `body` is '' when it wants us to offer. */
  offered(body: string, reply: OfferReply): void
  /** A key told of by INFO. */
  digit?(key: InfoDigit): void
  /** Once, and never after our own `bye`. */
  ended(why: DialogEnd): void
}

export interface SipDialog {
  readonly callId: string
  /** Idempotent. Resolves when the BYE was answered or given up; never rejects. */
  bye(): Promise<void>
  /**
   * Sends a re-INVITE and resolves with the peer's answer. Rejects with EngineError `sip_refused`
   * (context.status) or `sip_failed`.
   */
  modify(sdp: string): Promise<string>
}

/** An INVITE of a peer, not yet answered. */
export interface IncomingInvite {
  readonly callId: string
  /** Request-URI, as sent. */
  readonly uri: string
  /** User parts of the Request-URI and of From, unescaped; '' when there is none. */
  readonly to: string
  readonly from: string
  readonly sourceAddress: string
  readonly sourcePort: number
  readonly transport: string
  /** The SDP offer, or '' (delayed offer). */
  readonly body: string
  header(name: string): string | null
  /** Answers challenges to our requests inside the call, once it is accepted. */
  identify(credentials: Credentials): void
  /** Answered finally, cancelled, or lost with the connection to the server. */
  readonly over: boolean
  /** Called once when the peer cancels (487 was sent) or the connection is lost, before our final answer. */
  onWithdrawn(listener: (why: 'cancelled' | 'lost') => void): void
  ring(): void
  refuse(status: number, headers?: Readonly<Record<string, string | string[]>>): void
  /**
   * Sends 200. Resolves when it is out (the ACK comes to `handlers.acknowledged`); rejects with
   * EngineError `sip_failed` when it could not be sent or the CANCEL was faster.
   */
  accept(sdp: string, handlers: DialogHandlers): Promise<SipDialog>
}

export interface InviteRequest {
  /** Request-URI; the INVITE goes where it points. */
  readonly uri: string
  readonly callId: string
  /** Calling number; becomes the user part of From and Contact. */
  readonly from: string
  readonly transport: 'udp' | 'tcp' | 'tls'
  readonly body: string
  /** Host part of From; our own address when absent. */
  readonly fromDomain?: string
  readonly headers?: Readonly<Record<string, string>>
  /** Answers to challenges. */
  readonly credentials?: Credentials
}

export interface InviteHandlers extends DialogHandlers {
  /** Any provisional answer above 100. */
  progress(status: number): void
  /** 200 came and was acknowledged. `body` is its SDP. */
  answered(dialog: SipDialog, body: string): void
  /** The end of an INVITE that was not answered: EngineError `sip_refused` (context.status) or `sip_failed`. */
  failed(error: EngineError): void
}

export interface OutgoingInvite {
  /** Idempotent. `failed` follows; should a 200 be faster it is acknowledged and its dialog ended here. */
  cancel(): void
}

/** A request outside any dialog: OPTIONS or REGISTER. */
export interface OutOfDialogRequest {
  readonly method: 'OPTIONS' | 'REGISTER'
  /** Request-URI; the request goes where it points. */
  readonly uri: string
  readonly callId: string
  /** CSeq of the first attempt. */
  readonly cseq: number
  /** Of the first attempt and of those with credentials. */
  readonly headers: Readonly<Record<string, string>>
  /** Answers challenges, and remembers them for the next request. */
  readonly digest: DigestClient | null
}

/** The final answer to a plain request. */
export interface OutOfDialogResponse {
  readonly status: number
  /** Made by our own SIP server: nobody answered (408), nobody is there (503). */
  readonly local: boolean
  /** CSeq of the last attempt. */
  readonly cseq: number
  header(name: string): string | null
}

export interface SipServer {
  /** Addresses the server listens on, as `udp/127.0.0.1:5060`; empty while not connected. */
  readonly endpoints: readonly string[]
  readonly connected: boolean
  /** Every INVITE outside a dialog whose form is acceptable. One handler; without one they get 503. */
  onInvite(handler: ((invite: IncomingInvite) => void) | null): void
  invite(request: InviteRequest, handlers: InviteHandlers): OutgoingInvite
  /** Resolves with any final answer; rejects with EngineError `sip_failed` when it could not be sent. */
  request(request: OutOfDialogRequest): Promise<OutOfDialogResponse>
  /** Called after every connection to the server, the first one included, if still to come. */
  onConnected(listener: () => void): () => void
  /** Ends the connection; open dialogs and INVITEs are reported lost. Idempotent. */
  close(): Promise<void>
}
