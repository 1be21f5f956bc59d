import type { AudioFrame, Digit } from '../base/frame.js'
import type { ArrivalListener, Endpoint } from './endpoint.js'
import type { Member } from './route.js'

/**
 * Delivers the audio that a network leg receives to the recording and to the endpoints with arrival delivery.
 * The recording places a sent packet at its departure and a received packet 10 ms before its arrival. That is
 * within 10 ms of both time lines: the packets on the network, and the voices behind them.
 */
export class ArrivalFanOut implements ArrivalListener {
  readonly #member: Member
  readonly #faded: Int16Array
  /** The last frame was recorded. */
  #recorded: boolean

  constructor(member: Member) {
    this.#member = member
    this.#faded = new Int16Array(member.pcm.length)
    // A leg that is heard from its first packet on does not fade in.
    this.#recorded = member.recorded
  }

  onFrame(frame: AudioFrame): void {
    this.#record(frame)
    const targets = this.#member.arrivalTargets
    for (let i = 0; i < targets.length; i++) (targets[i] as Endpoint).push(frame)
    const observers = this.#member.observers
    for (let i = 0; i < observers.length; i++) observers[i]?.(frame)
  }

  /** Records the frame. It fades in or out when a route began or ended, like the route itself. */
  #record({ pcm, at }: AudioFrame): void {
    const { track, recorded } = this.#member
    const before = this.#recorded
    this.#recorded = recorded
    if (track === null || (!recorded && !before)) return
    const from = at + pcm.length / 2
    if (recorded === before) {
      track.write(from, pcm)
      return
    }
    const faded = this.#faded
    const length = faded.length
    for (let i = 0; i < length; i++) {
      faded[i] = ((pcm[i] as number) * (recorded ? i : length - i)) / length
    }
    track.write(from, faded)
  }

  onDigit(digit: Digit, durationMs: number): void {
    for (const target of this.#member.targets) target.endpoint.dtmf?.(digit, durationMs)
  }
}
