import type { RemoteMedia } from '../../workers/channel/protocol.js'
import type { LocalMedia } from '../sdp/sdp-transport.js'
import type { PeerAnswer, ReferReport } from '../sip/dialog-port.js'
import type { InfoDigit } from '../sip/info-dtmf.js'
import type { Ending } from './ending.js'

/** Events of a leg. None follows `ended` or the call's own `end`. */
export interface LegEvents {
  /** A provisional response above 100 arrived for our INVITE. `early` is the media before the answer, if it has any. */
  progress(sip: number, early?: RemoteMedia): void
  /** The far side answered and media is agreed: by the 200 (outbound) or the ACK (inbound). */
  answered(remote: RemoteMedia): void
  /**
   * Media was renegotiated: new address, hold or resume. The SDP answer is sent when the promise resolves;
   * when it rejects, the peer gets 500.
   */
  mediaChanged(remote: RemoteMedia): Promise<void>
  /** The far side sent a DTMF digit by INFO. */
  digit(key: InfoDigit): void
  /** The far side asks for a transfer to this URI. Returns false when that is not supported. */
  referred?(target: string, report: ReferReport): boolean
  /** The leg ended without our doing: BYE, CANCEL, refusal or loss. Once. */
  ended(ending: Ending): void
}

/** One party of a call on the signalling side. */
export interface Leg {
  readonly sipCallId: string
  /** Sends 180 to a caller; does nothing on an outbound leg. */
  ring(): void
  /**
   * Sends 183 with our answer to a caller, and returns what his offer says of his media. Returns null, after 180, when
   * that is not possible: he made no offer, or it cannot be served. Null on an outbound leg.
   */
  early(local: LocalMedia): RemoteMedia | null
  /** Sends the INVITE or the 200, now that our RTP port is known. */
  connect(local: LocalMedia): void
  /**
   * Asks the far side whether it still has the call. Resolves to `unanswered` before the answer of the leg. Never
   * rejects.
   */
  ask(): Promise<PeerAnswer>
  /**
   * Sends CANCEL, a refusal or BYE, depending on the state. Idempotent; resolves when done or given up, never
   * rejects.
   */
  end(ending: Ending): Promise<void>
}
