import type { Clock } from '../../base/clock.js'
import type { AudioFrame, SessionRate } from '../../base/frame.js'
import type { Vad, VadFactory } from '../../vad/vad.js'
import type { TimedWord } from '../agent-spec.js'
import type { CircuitBreakers } from '../circuit-breaker.js'
import { VAD_START_MS, VAD_STOP_MS } from '../turn/turn-policy.js'
import type { VendorFailure } from '../vendor-ports.js'
import { SttFailover } from './stt-failover.js'
import type { RecogniserChoice } from './stt-stream.js'

/** The words of a party between two silences. Times are session ms. */
export interface HeardWords {
  readonly text: string
  readonly language: string
  readonly startMs: number
  readonly endMs: number
  readonly words: readonly TimedWord[] | null
}

export interface ListenerOptions {
  readonly rate: SessionRate
  /** The languages that may be spoken, first the one that is expected. */
  readonly languages: readonly [string, ...string[]]
  /** Names and words that recognisers should expect. */
  readonly vocabulary: readonly string[]
  /** In the order of use. */
  readonly recognisers: readonly RecogniserChoice[]
  readonly breakers: CircuitBreakers
  readonly vad: VadFactory
  readonly clock: Clock
  /** Returns the session time (ms). */
  readonly now: () => number
  readonly heard: (words: HeardWords) => void
  /** A recogniser failed; `instead` takes over, null when none does. */
  readonly failed: (error: VendorFailure, vendor: string | null, instead: string | null) => void
  /** Told at the end of the audio that each recogniser was given (ms). */
  readonly used: (vendor: string, model: string | null, audioMs: number) => void
}

/** Recognises one party without a conversation: it answers nothing and interrupts no party. */
export class Listener {
  readonly #options: ListenerOptions
  readonly #stt: SttFailover
  readonly #vad: Vad
  /** Start of the speech that has no text yet; null in silence. */
  #startMs: number | null = null
  #endMs: number | null = null
  #failures = 0

  /** Begins to listen. A recogniser that cannot be opened is reported. */
  constructor(options: ListenerOptions) {
    this.#options = options
    const { rate, languages, vocabulary, recognisers, breakers, clock, vad } = options
    this.#vad = vad.open({ rate, startMs: VAD_START_MS, stopMs: VAD_STOP_MS })
    this.#stt = new SttFailover({
      languages,
      language: languages[0],
      rate,
      vocabulary,
      recognisers,
      breakers,
      clock,
      partial: () => {},
      final: (text, words, language) => this.#final(text, words, language),
      eagerEndOfTurn: () => {},
      failed: (error) => this.#failed(error),
      recogniserFailed: options.failed,
      capabilitiesChanged: () => {},
    })
    const failure = this.#stt.open()
    if (failure !== null) this.#failed(failure)
  }

  /** Takes 20 ms of the party. */
  push(frame: AudioFrame): void {
    const atMs = (frame.at * 1000) / frame.rate
    this.#stt.write(frame.pcm, atMs)
    const change = this.#vad.process(frame.pcm, atMs)
    if (change === 'onset') {
      this.#startMs ??= this.#vad.onsetMs
      this.#stt.utteranceStart(this.#vad.onsetMs)
    } else if (change === 'offset') {
      this.#endMs = this.#vad.lastVoicedMs
      this.#stt.utteranceEnd(this.#vad.lastVoicedMs)
    }
  }

  /** Ends recognition. Nothing is reported after that. Idempotent. */
  close(): void {
    for (const { vendor, model, ms } of this.#stt.takeAudioUsage()) this.#options.used(vendor, model, ms)
    this.#stt.close()
    this.#vad.close()
  }

  #final(text: string, words: readonly TimedWord[] | null, language: string | null): void {
    const now = this.#options.now()
    const startMs = words?.[0]?.startMs ?? this.#startMs ?? now
    const endMs = Math.max(startMs, words?.at(-1)?.endMs ?? this.#endMs ?? now)
    this.#startMs = this.#vad.speaking ? now : null
    this.#failures = 0
    if (text.trim() === '') return
    this.#options.heard({ text, language: language ?? this.#options.languages[0], startMs, endMs, words })
  }

  /** All recognisers failed. They are tried again for a while, as in a conversation. */
  #failed(error: VendorFailure): void {
    this.#options.failed(error, null, null)
    if (++this.#failures <= MAX_FAILURES) this.#stt.reopen()
  }
}

/** Failures of all recognisers in a row after which nothing is recognised any more. */
const MAX_FAILURES = 3
