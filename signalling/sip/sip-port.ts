import type { EngineError } from '../../media/base/errors.js'
import type { Credentials, DigestClient } from '../trunk/digest-client.js'
import type { Permit } from './dial-gate.js'
import type { DialogHandlers, SipDialog } from './dialog-port.js'
import type { IncomingInvite } from './incoming-invite.js'
import type { IncomingRegister } from './incoming-register.js'

/* The SIP server as legs use it. `sip-server.ts` implements it and is the only file that imports drachtio-srf. */

export interface InviteRequest {
  /** Claimed by the leg. The SIP server spends it: without a permit there is no INVITE. */
  readonly permit: Permit
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
  /** True for a host that a customer named: only its public addresses are used. */
  readonly publicOnly?: boolean
  /** Destination of the INVITE instead of the host of its URI: the flow of a registered telephone system. */
  readonly route?: string
}

export interface InviteHandlers extends DialogHandlers {
  /**
   * A provisional response above 100 arrived. `body` is its SDP (early media), or '' without one. `peer` is its
   * source address; null when the SIP server does not name it.
   */
  progress(status: number, body: string, peer: string | null): void
  /**
   * A 200 arrived and was acknowledged. `body` is its SDP, `early` the SDP that came before it in the same dialog.
   * Each is '' without one.
   */
  answered(dialog: SipDialog, body: string, early: string): void
  /** The INVITE ended unanswered: EngineError `sip_refused` (context.status) or `sip_failed`. */
  failed(error: EngineError): void
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
  /** True for a host that a customer named: only its public addresses are used. */
  readonly publicOnly?: boolean
  /** As in `InviteRequest`. */
  readonly route?: string
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
  /**
   * Sets the function that tells whether calls are accepted. While it returns false, OPTIONS and INVITEs outside of
   * dialogs get 503 with Retry-After, so that a proxy chooses another server (RFC 3261 21.5.4).
   */
  acceptCallsWhile(accepted: () => boolean): void
  /** Sets the handler of REGISTER; without one it gets 405. */
  onRegister(handler: ((register: IncomingRegister) => void) | null): void
  /**
   * Sends an INVITE, if its permit can be spent; else it fails as `permit_invalid` or `permit_lapsed`. `cancel` is
   * idempotent, takes the Reason header of the CANCEL, and `failed` follows it. A 200 that crosses the CANCEL is
   * acknowledged, and a BYE ends its dialog.
   */
  invite(request: InviteRequest, handlers: InviteHandlers): { cancel(reason?: string): void }
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
