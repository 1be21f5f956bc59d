import type { Clock } from '../../media/base/clock.js'
import { errorText } from '../../media/base/errors.js'
import type { Log } from '../../media/base/log.js'
import type { DetectorEvent } from '../../media/detect/events.js'
import type { CallEvent, CallId } from './call-events.js'
import type { EventSink } from './ports.js'

/** An event without the fields that every event has. */
export type CallEventBody = CallEvent extends infer E
  ? E extends CallEvent
    ? Omit<E, 'callId' | 'seq' | 'at'>
    : never
  : never

/** Publishes the events of one call with an increasing `seq`. A sink that throws does not stop the call. */
export class CallPublisher {
  /** True if a recording of the call could not be written to its end. */
  isRecordingCut = false
  readonly #callId: CallId
  readonly #events: EventSink
  readonly #clock: Clock
  readonly #log: Log
  /**
   * Unix time minus monotonic time (ms) when the call began. The length of a call does not change when the clock is
   * set.
   */
  readonly #offsetMs: number
  #seq = 0
  /** Clock time (ms) at which media was connected; null before. */
  #answeredAt: number | null = null

  constructor(
    callId: CallId,
    deps: { readonly events: EventSink; readonly clock: Clock; readonly log: Log },
  ) {
    this.#callId = callId
    this.#events = deps.events
    this.#clock = deps.clock
    this.#log = deps.log
    this.#offsetMs = deps.clock.wall() - deps.clock.now()
  }

  /** Returns the time of the call's events (Unix ms). */
  now(): number {
    return Math.round(this.#offsetMs + this.#clock.now())
  }

  publish(body: CallEventBody): void {
    this.#seq++
    const event = {
      callId: this.#callId,
      seq: this.#seq,
      at: this.now(),
      ...body,
    } as CallEvent
    try {
      this.#events.publish(event)
    } catch (error) {
      this.#log.error(
        { callId: this.#callId, type: body.type, error: errorText(error) },
        'call.event_rejected',
      )
    }
  }

  /** Publishes that media is connected. Failure events tell the time since this moment. */
  answered(): void {
    this.#answeredAt = this.#clock.now()
    this.publish({ type: 'answered' })
  }

  recordingFailed(message: string): void {
    this.isRecordingCut = true
    this.#trouble('recording', 'storage_failed', message)
  }

  /** Publishes a detector event, and a failure event where the operator may have to act. */
  detected(event: DetectorEvent): void {
    this.publish({ type: 'detected', event })
    if (event.type === 'one_way' && event.what === 'nothing_comes' && !event.over) {
      this.#trouble('media', 'one_way_audio', 'no packets arrive from the far side although we send')
    }
    if (event.type === 'clipping') this.#trouble('media', 'clipping', 'the audio of the far side is clipped')
  }

  #trouble(part: 'recording' | 'media', code: string, message: string): void {
    const atMs = this.#answeredAt === null ? 0 : Math.round(this.#clock.now() - this.#answeredAt)
    this.publish({ type: 'trouble', part, code, message, atMs })
  }
}
