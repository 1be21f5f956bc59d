import type { InfoDigit } from './info-dtmf.js'

/* The SIP dialog as legs use it. */

export type DialogEnd =
  /** The peer sent BYE; `reason` is its Reason header (RFC 3326). */
  | { readonly kind: 'peer'; readonly reason: string | null }
  /** The SIP server ended it: `ACK timeout`, `Session timer expired`. */
  | { readonly kind: 'server'; readonly reason: string }
  /** The connection to the SIP server was lost, and the dialog with it. */
  | { readonly kind: 'lost' }

/**
 * The state of a dialog as its peer tells it (RFC 3261 12.2.1.2). `exists`: the peer answered. `gone`: it answered 481.
 * `unanswered`: no answer came, or 408, with which a proxy speaks for a silent peer.
 */
export type PeerAnswer = 'exists' | 'gone' | 'unanswered'

/** Answers a re-INVITE or UPDATE, once; `sdp` counts only with 200. */
export type OfferReply = (status: 200 | 400 | 488 | 500, sdp: string, reason?: string) => void

/**
 * Reports the progress of a REFER to the peer (RFC 3515 2.4.5), as the status of the call that it asked for. A final
 * status is the last report.
 */
export type ReferReport = (status: number, reason: string) => void

export interface DialogHandlers {
  /**
   * The ACK to our 200 arrived; `body` is '' or the answer to our offer. `stale` is true when another INVITE of the
   * peer came meanwhile, to which the ACK does not belong.
   */
  acknowledged(body: string, stale: boolean): void
  /** The peer renegotiates; `body` is '' when it asks for our offer. */
  offered(body: string, reply: OfferReply): void
  /** A DTMF digit arrived by INFO. */
  digit?(key: InfoDigit): void
  /**
   * The peer asks for a transfer to this URI (REFER). Returns false when that is not supported; without this handler
   * none is.
   */
  referred?(target: string, report: ReferReport): boolean
  /** Tells whether the call goes on, when the peer asks by OPTIONS. Without this handler it does. */
  exists?(): boolean
  /** The dialog ended. Once, and never after our own `bye`. */
  ended(why: DialogEnd): void
}

export interface SipDialog {
  readonly callId: string
  /** Source address of the INVITE or 200 of the peer; null when the SIP server does not name it. */
  readonly peerAddress: string | null
  /**
   * Sends BYE, with a Reason header if one is given. Idempotent. Resolves when the BYE was answered or has timed out;
   * never rejects.
   */
  bye(reason?: string): Promise<void>
  /** Asks the peer by OPTIONS whether the dialog exists. Never rejects. */
  ask(): Promise<PeerAnswer>
  /**
   * Sends a re-INVITE and resolves with the peer's answer. Rejects with EngineError `sip_refused`
   * (context.status) or `sip_failed`.
   */
  modify(sdp: string): Promise<string>
}
