/** Sample rates the engine carries. A session mixes at 8000 or 16000; vendors may deliver the rest. */
export type Rate = 8000 | 16000 | 24000 | 48000
export type SessionRate = 8000 | 16000

/** One beat: every queue, timestamp and recording index is a multiple of it. */
export const FRAME_MS = 20

/** 20 ms of mono PCM. Borrowed: valid until the receiving call returns; copy to keep. */
export interface AudioFrame {
  readonly pcm: Int16Array
  readonly rate: Rate
  /** Samples since session start, at `rate`. */
  readonly at: number
}

export interface Sink {
  write(frame: AudioFrame): void
  close(): void
}

/** A stage receives the next sink and returns one that feeds it. */
export type Stage = (next: Sink) => Sink

export type EndpointId = string
export type EndpointKind = 'rtp' | 'byo' | 'agent' | 'file' | 'tone'
export type CloseReason = 'hangup' | 'api_hangup' | 'media_timeout' | 'error' | 'shutdown'
export type Digit =
  | '0'
  | '1'
  | '2'
  | '3'
  | '4'
  | '5'
  | '6'
  | '7'
  | '8'
  | '9'
  | '*'
  | '#'
  | 'A'
  | 'B'
  | 'C'
  | 'D'

/** How keys that are sent sound: whole frames, from 40 ms of tone and 60 ms of pause on. */
export interface DtmfTiming {
  readonly toneMs: number
  readonly gapMs: number
}

/**
 * One party of a session. Ends know nothing of each other: who hears whom is only ever changed by
 * `MediaSession.route`.
 */
export interface Endpoint {
  readonly id: EndpointId
  readonly kind: EndpointKind
  /**
   * When `arrival`, audio of a single rtp source is handed over as packets arrive (in order, before
   * the jitter delay), because listening needs no smooth playout; `beat` gets the mixed 20 ms.
   */
  readonly delivery: 'arrival' | 'beat'
  /** Beat: writes this end's next 20 ms at the session rate into `into`; false means silence. */
  pull(into: Int16Array, at: number): boolean
  /** Audio routed to this end. */
  push(frame: AudioFrame): void
  /** A digit pressed by an end that is routed to this one. */
  dtmf?(digit: Digit, durationMs: number): void
  close(why: CloseReason): void
}

/** How the sound of one direction fared. */
export interface DirectionQuality {
  /** Share of packets lost on the way, 0 to 1. */
  readonly loss: number
  readonly jitterMs: number
  /** What people would say of it, 1 to 4.5: an estimate by the E-model (ITU-T G.107). */
  readonly mos: number
}

export interface CallQuality {
  /** By RTCP; null while the far side sends no reports. */
  readonly rttMs: number | null
  readonly heard: DirectionQuality & {
    /** Packets that came too late to be played. */
    readonly discarded: number
    /** Share of packets lost or discarded inside and between bursts (RFC 3611, 4.7.2), 0 to 1. */
    readonly burstDensity: number
    readonly gapDensity: number
  }
  /** What the far side reports of what we sent; null when it reports nothing. */
  readonly sent: DirectionQuality | null
}

export interface RtpStats {
  readonly packetsSent: number
  readonly packetsReceived: number
  readonly lost: number
  readonly late: number
  readonly duplicates: number
  /** Datagrams refused: not RTP, wrong payload type, wrong source, wrong SSRC. */
  readonly refused: number
  readonly concealedFrames: number
  /** RFC 3550 interarrival jitter. */
  readonly jitterMs: number
  readonly quality?: CallQuality
  readonly playout: PlayoutStats
}

/** What the jitter buffer does, in ms. */
export interface PlayoutStats {
  /** Wanted, and last, delay between the arrival of an undelayed packet and its playing. */
  readonly targetMs: number
  readonly delayMs: number
  /** Put in and left out to keep to the target. */
  readonly insertedMs: number
  readonly discardedMs: number
  /** How much faster the sender's clock runs than ours; 0 in the first half minute. */
  readonly driftPpm: number
}

export interface SessionStats {
  readonly frames: number
  readonly rtp: RtpStats | null
}

/** A route that is not simply at full gain. */
export interface RouteTo {
  readonly to: EndpointId
  /** Linear, 0 to 4; 1 unless told. */
  readonly gain?: number
  /** While one of these ends sounds, the route is softer by its `gain`; then it comes back in `releaseMs`. */
  readonly duckedBy?: readonly {
    readonly endpoint: EndpointId
    readonly gain: number
    readonly releaseMs: number
  }[]
}

export interface MediaSession {
  readonly rate: SessionRate
  add(end: Endpoint): void
  /** Closes an end and takes it out, with its routes. */
  remove(id: EndpointId, why: CloseReason): void
  route(from: EndpointId, to: readonly (EndpointId | RouteTo)[]): void
  stats(): SessionStats
  close(why: CloseReason): void
}
