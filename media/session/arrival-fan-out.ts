import type { AudioFrame, Digit } from '../base/frame.js'
import type { Recorder } from '../recording/recorder.js'
import type { ArrivalListener, Endpoint } from './endpoint.js'
import type { Member } from './route.js'

/**
 * What a network leg hears goes to the recording and to whoever listens to it without delay. In the
 * recording a sent packet begins when it left; a received one begins 10 ms before it came, which is
 * within 10 ms of both views of it: the packets on the wire, and the mouth and ear behind them.
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
    const ears = this.#member.arrivalTargets
    for (let i = 0; i < ears.length; i++) (ears[i] as Endpoint).push(frame)
    const observers = this.#member.observers
    for (let i = 0; i < observers.length; i++) observers[i]?.(frame)
  }

  onDigit(digit: Digit, durationMs: number): void {
    for (const target of this.#member.targets) target.endpoint.dtmf?.(digit, durationMs)
  }
}
