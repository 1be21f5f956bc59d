import type { AudioFrame, Digit } from '../base/frame.js'
import type { Recorder } from '../recording/recorder.js'
import type { ArrivalListener, Endpoint } from './endpoint.js'
import type { Member } from './route.js'

/**
 * Delivers the audio that a network leg receives to the recording and to the endpoints with arrival delivery.
 * The recording places a sent packet at its departure and a received packet 10 ms before its arrival. That is
 * within 10 ms of both time lines: the packets on the network, and the voices behind them.
 */
export class ArrivalFanOut implements ArrivalListener {
  readonly #member: Member
  readonly #recorder: Recorder | null

  constructor(member: Member, recorder: Recorder | null) {
    this.#member = member
    this.#recorder = recorder
  }

  onFrame(frame: AudioFrame): void {
    const { track } = this.#member
    if (track === 'caller') this.#recorder?.writeCaller(frame.at + frame.pcm.length / 2, frame.pcm)
    else if (track === 'person') this.#recorder?.writePerson(frame.at + frame.pcm.length / 2, frame.pcm)
    const targets = this.#member.arrivalTargets
    for (let i = 0; i < targets.length; i++) (targets[i] as Endpoint).push(frame)
    const observers = this.#member.observers
    for (let i = 0; i < observers.length; i++) observers[i]?.(frame)
  }

  onDigit(digit: Digit, durationMs: number): void {
    for (const target of this.#member.targets) target.endpoint.dtmf?.(digit, durationMs)
  }
}
