import type { Rate, SessionRate } from '../../base/frame.js'
import { openResampler, type Resampler } from '../../codec/resampler.js'
import { LeadingSilenceTrimmer } from '../tts/leading-silence.js'
import type { StreamedAudio, StreamedSentence } from '../tts/speaker.js'
import type { SynthesisEvents } from '../tts/synthesis.js'
import type { Cancellable } from '../vendor-ports.js'

/** Sound of one item of a reply: from the vendor's rate to the session's, without its leading silence. */
export class RealtimeItem {
  readonly id: string
  readonly #rate: SessionRate
  readonly #trim: LeadingSilenceTrimmer
  #resampler: Resampler | null = null
  /** What came before it was this item's turn to be heard. */
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

  /** Seconds of sound so far. */
  get seconds(): number {
    return this.#samples / this.#rate
  }

  /** Hands the item to a speaker. */
  attach(stream: (live: StreamedAudio) => StreamedSentence): void {
    this.#sentence = stream((events) => this.#begin(events))
    this.#sentence.addWords(this.#words)
  }

  addWords(piece: string): void {
    this.#words += piece
    this.#sentence?.addWords(piece)
  }

  push(pcm: Int16Array, from: Rate): void {
    if (from !== this.#rate) this.#resampler ??= openResampler(from, this.#rate)
    // The resampler's output is its own scratch; ours is kept.
    const sound = this.#trim.push(this.#resampler ? this.#resampler.process(pcm).slice() : pcm)
    if (sound.length === 0 || this.#cancelled) return
    this.#samples += sound.length
    if (this.#sink === null) this.#buffered.push(sound)
    else this.#sink.audio(sound)
  }

  /** Nothing follows. */
  end(): void {
    if (this.#complete) return
    this.#complete = true
    this.#sink?.done()
  }

  /** Everything that came was sent. */
  get fullySent(): boolean {
    return this.#complete && (this.#sentence?.sentSamples ?? 0) >= this.#samples
  }

  /** How much of the vendor's sound was sent, silence at its beginning included; 0: nothing. */
  get sentMs(): number {
    const sent = this.#sentence?.sentSamples ?? 0
    return sent === 0 ? 0 : ((this.#trim.dropped + sent) * 1000) / this.#rate
  }

  #begin(events: SynthesisEvents): Cancellable {
    this.#sink = events
    for (const sound of this.#buffered.splice(0)) events.audio(sound)
    // The speaker needs its handle before the end.
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
