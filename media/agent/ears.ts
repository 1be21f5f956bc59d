import type { Clock, Timer } from '../base/clock.js'
import type { SessionRate } from '../frame.js'
import type { SpeechToText, SpeechToTextCapabilities, SpeechToTextStream, VendorFailure } from './ports.js'
import type { AgentSpec, SpeakerScript, TimedWord } from './spec.js'
import { asFailure } from './synthesis.js'

/** Before a stream is open: expect what most recognisers do. */
const UNKNOWN: SpeechToTextCapabilities = {
  partials: false,
  endOfUtterance: false,
  wordTimes: false,
  understandsSpeech: true,
  finalDeadlineMs: 1500,
}

/** A recogniser that just failed gets this long to recover. */
const REOPEN_AFTER_MS = 250

export interface EarsOptions {
  readonly spec: AgentSpec
  readonly rate: SessionRate
  readonly recogniser: SpeechToText
  readonly clock: Clock
  partial(text: string): void
  final(text: string, words: readonly TimedWord[] | null): void
  failed(error: VendorFailure): void
}

/** The recogniser's stream of one call, opened again after a failure. */
export class Ears {
  readonly #options: EarsOptions
  #script: SpeakerScript | null = null
  #stream: SpeechToTextStream | null = null
  #capabilities = UNKNOWN
  /** Tells the events of the running stream from those of one that failed. */
  #generation = 0
  #reopening: Timer | null = null
  #closed = false
  #givenSamples = 0

  constructor(options: EarsOptions) {
    this.#options = options
  }

  get capabilities(): SpeechToTextCapabilities {
    return this.#capabilities
  }

  /** Returns why it could not be opened, null when it was. */
  open(script: SpeakerScript | null): VendorFailure | null {
    this.#script = script
    return this.#open()
  }

  /** `speechFromMs`: the caller is speaking since then. */
  reopen(speechFromMs: number | null): void {
    this.#drop()
    if (this.#reopening || this.#closed) return
    const { clock, failed } = this.#options
    this.#reopening = clock.after(REOPEN_AFTER_MS, () => {
      this.#reopening = null
      const failure = this.#open()
      if (failure) failed(failure)
      else if (speechFromMs !== null) this.#stream?.utteranceStart(speechFromMs)
    })
  }

  write(pcm: Int16Array, atMs: number): void {
    if (this.#stream === null) return
    this.#stream.write(pcm, atMs)
    this.#givenSamples += pcm.length
  }

  /** Sound given to recognition since the last call of this. */
  takeGivenMs(): number {
    const ms = (this.#givenSamples * 1000) / this.#options.rate
    this.#givenSamples = 0
    return ms
  }

  utteranceStart(atMs: number): void {
    this.#stream?.utteranceStart(atMs)
  }

  utteranceEnd(atMs: number): void {
    this.#stream?.utteranceEnd(atMs)
  }

  /** Idempotent; no event follows. */
  close(): void {
    this.#closed = true
    this.#reopening?.cancel()
    this.#drop()
  }

  #open(): VendorFailure | null {
    const { spec, rate, recogniser, partial, final, failed } = this.#options
    const generation = ++this.#generation
    const live = () => this.#generation === generation
    try {
      const stream = recogniser.open(
        {
          rate,
          language: spec.speechToText.language,
          model: spec.speechToText.model,
          mode: spec.speechToText.mode,
          script: this.#script,
        },
        {
          partial: (text) => {
            if (live()) partial(text)
          },
          final: (text, words) => {
            if (live()) final(text, words)
          },
          failed: (error) => {
            if (live()) failed(error)
          },
        },
      )
      this.#stream = stream
      this.#capabilities = stream.capabilities
      return null
    } catch (error) {
      return asFailure(error)
    }
  }

  #drop(): void {
    this.#generation++
    this.#stream?.close()
    this.#stream = null
  }
}
