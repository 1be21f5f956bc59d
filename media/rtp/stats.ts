/** Quality of the audio in one direction. */
export interface DirectionQuality {
  /** Share of packets that the network lost, 0 to 1. */
  readonly loss: number
  readonly jitterMs: number
  /** Estimated mean opinion score, 1 to 4.5, by the E-model (ITU-T G.107). */
  readonly mos: number
}

export interface CallQuality {
  /** Round-trip time measured by RTCP; null while the peer sends no reports. */
  readonly rttMs: number | null
  readonly heard: DirectionQuality & {
    /** Packets that arrived too late for playout. */
    readonly discarded: number
    /** Share of packets lost or discarded inside and between bursts, 0 to 1 (RFC 3611 section 4.7.2). */
    readonly burstDensity: number
    readonly gapDensity: number
  }
  /** The peer's report about the audio that Parley sent; null when the peer sends no reports. */
  readonly sent: DirectionQuality | null
}

export interface RtpStats {
  readonly packetsSent: number
  readonly packetsReceived: number
  readonly lost: number
  readonly late: number
  readonly duplicates: number
  /** Refused datagrams: not RTP, wrong payload type, wrong source address or wrong SSRC. */
  readonly refused: number
  readonly concealedFrames: number
  /** Interarrival jitter of RFC 3550. */
  readonly jitterMs: number
  readonly quality?: CallQuality
  readonly playout: PlayoutStats
}

/** Work of the jitter buffer (ms). */
export interface PlayoutStats {
  /** The wanted and the latest delay between the arrival of an undelayed packet and its playout. */
  readonly targetMs: number
  readonly delayMs: number
  /** Audio inserted and discarded to follow the target. */
  readonly insertedMs: number
  readonly discardedMs: number
  /** Drift of the sender's clock against ours, positive when it runs fast; 0 during the first half minute. */
  readonly driftPpm: number
}
