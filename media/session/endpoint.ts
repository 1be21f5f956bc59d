import type { AudioFrame, Digit } from '../base/frame.js'
import type { RtpStats } from '../rtp/stats.js'

export type EndpointId = string
export type EndpointKind = 'rtp' | 'byo' | 'agent' | 'file' | 'tone'
export type CloseReason = 'hangup' | 'api_hangup' | 'media_timeout' | 'error' | 'shutdown'

/**
 * One party of a session. Endpoints do not know each other: only `Session.route` decides which
 * endpoint hears which.
 */
export interface Endpoint {
  readonly id: EndpointId
  readonly kind: EndpointKind
  /**
   * `arrival`: audio of a single RTP source is delivered as packets arrive, in order and before the jitter
   * buffer, because a listener needs no smooth playout. `tick`: the mixed 20 ms are delivered on each tick.
   */
  readonly delivery: 'arrival' | 'tick'
  /** Writes the next 20 ms of this endpoint into `into` at the session rate. Returns false for silence. */
  pull(into: Int16Array, at: number): boolean
  /** Takes 20 ms of the audio that is routed to this endpoint. */
  push(frame: AudioFrame): void
  /** Takes a DTMF digit of an endpoint that is routed to this one; a network leg sends it to its peer. */
  dtmf?(digit: Digit, durationMs: number): void
  close(why: CloseReason): void
}

/** Takes the audio and the digits of a network leg as they arrive. */
export interface ArrivalListener {
  /**
   * Takes the next 20 ms in order, without the delay of the jitter buffer, and silence while the peer sends
   * nothing. `frame.at` is the time of speaking: the arrival of the packet without the jitter of the
   * network, less the length of the packet. It is negative in the first 20 ms, and steps back after a
   * network stall over silence that was already delivered. The frame is borrowed.
   */
  onFrame(frame: AudioFrame): void
  onDigit(digit: Digit, durationMs: number): void
}

/** A network leg: audio arrives on its own, and one packet leaves on each tick. */
export interface NetworkEndpoint extends Endpoint {
  readonly kind: 'rtp'
  /**
   * Sets whether the session pulls audio. Without playout `pull` is not called, and received audio is only delivered as
   * it arrives. On at first.
   */
  setPlayout(on: boolean): void
  /** Starts sending and receiving. `originMs` is the clock time of session sample 0. */
  start(originMs: number, listener: ArrivalListener): void
  /** Ends a tick: sends the audio pushed during it, or comfort noise. Returns true when pushed audio was sent. */
  flush(at: number): boolean
  stats(): RtpStats
}

export function isNetworkEndpoint(endpoint: Endpoint): endpoint is NetworkEndpoint {
  return endpoint.kind === 'rtp'
}

export interface SessionStats {
  readonly frames: number
  readonly rtp: RtpStats | null
}

/** A route whose gain is not simply 1. */
export interface RouteTo {
  readonly to: EndpointId
  /** Linear gain, 0 to 4; 1 when absent. */
  readonly gain?: number
  /** Takes no part in the conversation: who is heard by such listeners only is not recorded. */
  readonly onlyListens?: true
  /** While one of these endpoints has audio, the gain is multiplied by `gain`. It recovers within `releaseMs`. */
  readonly duckedBy?: readonly {
    readonly endpoint: EndpointId
    readonly gain: number
    readonly releaseMs: number
  }[]
}
