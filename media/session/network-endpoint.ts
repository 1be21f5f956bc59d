import type { AudioFrame, Digit, Endpoint } from '../base/frame.js'

/** Who is told what an `ArrivalEnd` hears. Set once, by the session. */
export interface ArrivalListener {
  /**
   * The next 20 ms as packets arrive, in order, without the jitter delay; silence where the far side
   * sends none. `at` is when it was spoken, as far as the wire can tell: when its packet came (without
   * the network's jitter), less the length of the packet; negative in the first 20 ms. After a stall of
   * the network it steps back over the silence that was already handed out. Borrowed.
   */
  onFrame(frame: AudioFrame): void
  onDigit(onDigit: Digit, durationMs: number): void
}

/** An end whose audio comes by itself (a network leg), and which sends once a beat. */
export interface NetworkEndpoint extends Endpoint {
  /** `originMs`: clock time of session sample 0. Nothing is sent or heard before. */
  start(originMs: number, listener: ArrivalListener): void
  /**
   * Last step of a beat: sends what was pushed during it, or comfort silence. True when pushed sound
   * really left.
   */
  flush(at: number): boolean
}

export function isNetworkEndpoint(end: Endpoint): end is NetworkEndpoint {
  return 'flush' in end && 'start' in end
}
