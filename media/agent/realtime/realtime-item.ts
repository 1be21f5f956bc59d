import type { Rate, SessionRate } from '../../base/frame.js'
import { openResampler, type Resampler } from '../../codec/resampler.js'
import { LeadingSilenceTrimmer } from '../tts/leading-silence.js'
import type { StreamedAudio, StreamedSentence } from '../tts/speaker.js'
import type { SynthesisEvents } from '../tts/synthesis.js'
import type { Cancellable } from '../vendor-ports.js'

/** Audio of one item of a reply, at the session's rate and without leading silence. */
export class RealtimeItem {
  readonly id: string
  readonly #rate: SessionRate
  readonly #trim: LeadingSilenceTrimmer
  #resampler: Resampler | null = null
  /** Audio that arrived before the item was attached. */
  readonly #buffered: Int16Array[] = []
  #sink: SynthesisEvents | null = null
  #sentence: StreamedSentence | null = null
  #words = ''
  #samples = 0
  #complete = false
  #cancelled = false

  constructor(id: string, rate: SessionRate) {
    this.id = id
    this.#rate = rate
    this.#trim = new LeadingSilenceTrimmer(rate)
  }

  /** Length of the audio so far (s). */
  get seconds(): number {
    return this.#samples / this.#rate
  }

  /** Attaches the item to a speaker. */
  attach(stream: (streamed: StreamedAudio) => StreamedSentence): void {
    this.#sentence = stream((events) => this.#begin(events))
    this.#sentence.addWords(this.#words)
  }

  addWords(piece: string): void {
    this.#words += piece
    this.#sentence?.addWords(piece)
  }

  push(pcm: Int16Array, from: Rate): void {
    if (from !== this.#rate) this.#resampler ??= openResampler(from, this.#rate)
    // The resampler reuses its output buffer, so the samples are copied.
    const trimmed = this.#trim.push(this.#resampler ? this.#resampler.process(pcm).slice() : pcm)
    if (trimmed.length === 0 || this.#cancelled) return
    this.#samples += trimmed.length
    if (this.#sink === null) this.#buffered.push(trimmed)
    else this.#sink.audio(trimmed)
  }

  /** Ends the item. */
  end(): void {
    if (this.#complete) return
    this.#complete = true
    this.#sink?.done()
  }

  /** True if all of its audio was sent. */
  get fullySent(): boolean {
    return this.#complete && (this.#sentence?.sentSamples ?? 0) >= this.#samples
  }

  /** Sent part of the vendor's audio (ms), including its leading silence. 0 when nothing was sent. */
  get sentMs(): number {
    const sent = this.#sentence?.sentSamples ?? 0
    return sent === 0 ? 0 : ((this.#trim.dropped + sent) * 1000) / this.#rate
  }

  #begin(events: SynthesisEvents): Cancellable {
    this.#sink = events
    for (const trimmed of this.#buffered.splice(0)) events.audio(trimmed)
    // Deferred so that the speaker has the handle first.
    if (this.#complete) {
      queueMicrotask(() => {
        if (!this.#cancelled) events.done()
      })
    }
    return {
      cancel: () => {
        this.#cancelled = true
        this.#sink = null
      },
    }
  }
}
