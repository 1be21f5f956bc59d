import type { RemoteMedia } from '../../workers/channel/protocol.js'
import type { LocalMedia } from '../sdp/sdp-session.js'
import type { InfoDigit } from '../sip/info-dtmf.js'
import type { Ending } from './ending.js'

/** What a leg tells its call. Nothing follows `ended`, nor the call's own `end`. */
export interface LegEvents {
  /** A provisional answer above 100 to our INVITE. */
  progress(sip: number): void
  /** The far side is there and media is agreed: 200 (we dialled) or ACK (we were called). */
  answered(remote: RemoteMedia): void
  /**
   * Media was renegotiated: other address, hold, resume. The answer goes out when the promise
   * resolves; when it rejects the peer gets 500.
   */
  mediaChanged(remote: RemoteMedia): Promise<void>
  /** The far side told of a key by INFO. */
  digit(key: InfoDigit): void
  /** The leg ended by itself: BYE, CANCEL, refusal, loss. Once. */
  ended(ending: Ending): void
}

/** One party of a call on the signalling side. */
export interface Leg {
  readonly sipCallId: string
  /** Tells the caller that it rings; nothing for a leg we dial. */
  ring(): void
  /** Our RTP port is known: sends the INVITE, or the 200. */
  connect(local: LocalMedia): void
  /** CANCEL, refusal or BYE, whatever fits. Idempotent; resolves when done or given up, never rejects. */
  end(ending: Ending): Promise<void>
}
