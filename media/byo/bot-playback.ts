import type { Digit, DtmfTiming, SessionRate } from '../base/frame.js'
import { type Ack, AckQueue } from './ack-queue.js'
import { type AudioFormat, durationMs, type NamedFormat, readAudio } from './audio/audio-format.js'
import { LatencyController } from './audio/latency-controller.js'
import type { Marker } from './audio/playback-queue.js'
import type { BotErrorCode, BotMessage, WireFormat } from './dialects/wire-format.js'

export interface BotPlaybackOptions {
  readonly wireFormat: Pick<WireFormat, 'markAck' | 'playedAck' | 'clearAck'>
  /** Agreed format of the bot's audio. */
  readonly format: AudioFormat
  readonly rate: SessionRate
  readonly send: (message: BotMessage | null) => void
  readonly violation: (code: BotErrorCode, message: string) => void
  /** Called when the bot has far too many acknowledgements pending. */
  readonly overload: () => void
  readonly advancePhase: (ms: number) => boolean
  readonly audioReady: () => void
  readonly sendDigits: (digits: readonly Digit[], timing?: DtmfTiming) => boolean
}

/**
 * The bot's side of the audio: plays its audio, marks and DTMF in order, acknowledges them, and keeps the
 * playout delay short. Times are ms of one clock.
 */
export class BotPlayback {
  /** Audio beyond the bound of the queue (ms). */
  droppedMs = 0
  /** Marks received. */
  marks = 0
  readonly #options: BotPlaybackOptions
  readonly #controller: LatencyController
  readonly #acks: AckQueue
  readonly #afterTick = () => {
    this.#acks.tick()
    this.#ackReached()
  }
  /** The frame clock is waiting for audio. */
  #waiting = false
  /** A tick has happened; before the first one the call takes no DTMF. */
  #ticked = false

  constructor(options: BotPlaybackOptions) {
    this.#options = options
    this.#controller = new LatencyController(options.rate, options.advancePhase)
    this.#acks = new AckQueue(options.wireFormat, options.send)
  }

  /** True when nothing is left to be played or done. */
  get idle(): boolean {
    return this.#controller.queue.idle
  }

  get underruns(): number {
    return this.#controller.queue.underruns
  }

  /** Late audio that was skipped (ms). */
  get trimmedMs(): number {
    return this.#controller.trimmedMs
  }

  /** Returns false when audio for the next tick is due and has not arrived: the tick should wait briefly. */
  ready(): boolean {
    if (this.#controller.ready) return true
    this.#waiting = true
    return false
  }

  /** Writes the next 20 ms into `into`; returns false when there is no audio. `trim` shortens a backlog. */
  pull(into: Int16Array, nowMs: number, trim: boolean): boolean {
    this.#ticked = true
    if (this.#waiting) this.#controller.pullDelayed()
    this.#waiting = false
    const hasAudio = this.#controller.pull(into, nowMs)
    if (this.#controller.queue.hasReached || this.#acks.active) queueMicrotask(this.#afterTick)
    if (trim) this.#controller.trimBacklog(nowMs)
    return hasAudio
  }

  /**
   * Queues audio. `named` is the format that the message itself names; `id` is acknowledged at the end of the
   * audio; `sentMs` is the audio sent to the bot so far.
   */
  play(audio: Uint8Array, named: NamedFormat, id: string | null, nowMs: number, sentMs: number): void {
    const encoded = readAudio(this.#options.format, audio, named)
    if (typeof encoded === 'string') {
      this.#options.violation('bad_audio', encoded)
      return
    }
    if (!this.#controller.enqueue(encoded, nowMs, sentMs)) {
      this.droppedMs += durationMs(encoded)
      this.#options.violation('buffer_full', 'more than 300 s of audio are queued')
    }
    if (id !== null) this.#enqueue({ kind: 'played', id })
    if (this.#waiting && this.#controller.ready) this.#options.audioReady()
  }

  mark(name: string): void {
    this.marks++
    this.#enqueue({ kind: 'mark', name })
  }

  /** Queues DTMF; `w` is a pause of 500 ms. */
  dtmf(keys: string, timing: DtmfTiming | undefined): void {
    for (const key of keys) {
      const marker: Marker = key === 'w' ? { kind: 'pause' } : { kind: 'key', digit: key as Digit, timing }
      if (!this.#enqueue(marker)) return
    }
  }

  /** Drops everything that is queued, and acknowledges it. */
  clear(nowMs: number): void {
    const { droppedMs, marks } = this.#controller.queue.clear()
    this.#controller.reset(nowMs)
    for (const marker of marks) {
      if (marker.kind === 'mark') this.#ack({ type: 'mark', name: marker.name, how: 'cleared' })
    }
    this.#ack({ type: 'clear', droppedMs })
  }

  forgetMarks(): void {
    this.#controller.queue.forgetMarks()
  }

  #enqueue(marker: Marker): boolean {
    if (!this.#controller.queue.addMarker(marker)) {
      this.#options.violation('buffer_full', 'too many marks and keys are queued')
      return false
    }
    // With nothing queued before it, the marker is reached at once.
    if (this.#controller.queue.hasReached && this.#ticked) this.#ackReached()
    return true
  }

  #ack(ack: Ack): void {
    if (!this.#acks.push(ack)) this.#options.overload()
  }

  #ackReached(): void {
    const reached = this.#controller.queue.takeReached()
    if (reached === null) return
    for (const marker of reached) {
      if (marker.kind === 'mark') this.#ack({ type: 'mark', name: marker.name, how: 'played' })
      else if (marker.kind === 'played') this.#ack({ type: 'audio', id: marker.id })
      else if (marker.kind === 'key' && !this.#options.sendDigits([marker.digit], marker.timing)) {
        this.#options.violation('bad_frame', 'DTMF cannot be sent on this call')
      }
    }
  }
}
