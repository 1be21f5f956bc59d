import type { Clock, Timer } from '../../base/clock.js'
import { EngineError } from '../../base/errors.js'
import type { SessionRate } from '../../base/frame.js'
import type { TimedWord } from '../agent-spec.js'
import type { CircuitBreakers } from '../circuit-breaker.js'
import type { PendingWait } from '../learnt-deadlines.js'
import type { SpeechToTextCapabilities, VendorFailure } from '../vendor-ports.js'
import { AudioHistory } from './audio-history.js'
import {
  keyOf,
  languagesOf,
  openSttStream,
  PRE_ROLL_MS,
  type RecogniserChoice,
  type SttStream,
  supports,
  UNKNOWN_CAPABILITIES,
  type Utterance,
  UtteranceReplay,
} from './stt-stream.js'

/** Delay before a failed recogniser is opened again. */
const REOPEN_AFTER_MS = 250
/** Length of unanswered speech that another recogniser can receive. */
const HISTORY_MS = 4000
/** Least time (ms) allowed for a hedge request. */
const HEDGE_MS = 700
/** The hedge starts after this part of the first recogniser's deadline (p99). Few finals are that late. */
const HEDGE_AFTER = 0.5

/** A learnt wait for a final text is at least this part of the vendor's usual one, and at most this long (ms). */
const LEAST_WAIT = 0.6
const MOST_WAIT_MS = 2200

export interface SttFailoverOptions {
  /** All languages that may be spoken, and the one expected first. */
  readonly languages: readonly string[]
  /** Names and terms that the caller may use. */
  readonly vocabulary: readonly string[]
  readonly language: string
  readonly rate: SessionRate
  /** The agent's own recogniser, then its fallbacks. */
  readonly recognisers: readonly RecogniserChoice[]
  readonly breakers: CircuitBreakers
  readonly clock: Clock
  partial(text: string): void
  final(text: string, words: readonly TimedWord[] | null, language: string | null): void
  eagerEndOfTurn(complete: boolean): void
  /** All recognisers failed. `reopen` starts again. */
  failed(error: VendorFailure): void
  /**
   * A recogniser failed or does not understand the language. `instead` takes over with the unanswered speech,
   * null when none does.
   */
  recogniserFailed(error: VendorFailure, vendor: string, instead: string | null): void
  /** The capabilities have changed. */
  capabilitiesChanged(): void
}

/** Audio given to one recogniser, for metering. */
export interface AudioUsage {
  readonly vendor: string
  readonly model: string | null
  readonly ms: number
}

/**
 * The STT stream of one call with its fallbacks. When a stream fails or its final text is late, another
 * recogniser receives the unanswered speech (at most 4 s). Of two active streams the first to answer stays. A
 * stream is reopened after all have failed, and when the caller switches to a language that it does not
 * understand.
 */
export class SttFailover {
  readonly #options: SttFailoverOptions
  readonly #history: AudioHistory | null
  #active: SttStream | null = null
  /** Second stream, opened because the first one is late (a hedged request). */
  #hedge: SttStream | null = null
  #hedgedAtMs = 0
  /** Recognisers that failed since the last text. */
  readonly #tried = new Set<RecogniserChoice>()
  #language: string
  #utterance: Utterance | null = null
  #lastMs = 0
  #reopening: Timer | null = null
  #deadline: Timer | null = null
  /** The utterance whose final text the active stream owes. */
  #wait: PendingWait | null = null
  #closed = false
  #numberExpected = false
  /** Samples given to each recogniser. */
  readonly #givenSamples: number[]

  constructor(options: SttFailoverOptions) {
    this.#options = options
    this.#language = options.language
    this.#givenSamples = options.recognisers.map(() => 0)
    const alone = options.recognisers.length < 2 && options.languages.length < 2
    this.#history = alone ? null : new AudioHistory(options.rate, HISTORY_MS)
  }

  get capabilities(): SpeechToTextCapabilities {
    const capabilities = this.#active?.stream.capabilities ?? UNKNOWN_CAPABILITIES
    const deadlineMs =
      this.#active === null ? capabilities.finalDeadlineMs : this.#finalDeadlineMs(this.#active)
    if (this.#nextFallback() === null) return { ...capabilities, finalDeadlineMs: deadlineMs }
    return { ...capabilities, finalDeadlineMs: Math.max(deadlineMs, deadlineMs * HEDGE_AFTER + HEDGE_MS) }
  }

  /** Returns how long to wait (ms) for a final text of a stream. */
  #finalDeadlineMs({ choice, stream }: SttStream): number {
    const { finalDeadlineMs: usualMs, deadlineSet } = stream.capabilities
    if (deadlineSet) return usualMs
    const bounds = { leastMs: usualMs * LEAST_WAIT, usualMs, mostMs: Math.max(usualMs, MOST_WAIT_MS) }
    return this.#options.breakers.deadlines.of(keyOf(choice), bounds)
  }

  /** Opens the first usable recogniser. Returns the failure, or null on success. */
  open(): VendorFailure | null {
    return this.#openFirst()
  }

  /** Reopens after `failed`, with a delay. Speech in progress is recognised from its beginning. */
  reopen(): void {
    this.#closeStreams()
    if (this.#reopening || this.#closed) return
    const { clock, failed } = this.#options
    this.#reopening = clock.after(REOPEN_AFTER_MS, () => {
      this.#reopening = null
      this.#tried.clear()
      if (this.#utterance?.endMs !== null) this.#utterance = null
      const failure = this.#openFirst()
      if (failure) failed(failure)
    })
  }

  /** Closes the streams and forgets the speech in progress. Nothing is recognised until `reopen`. */
  suspend(): void {
    this.#reopening?.cancel()
    this.#reopening = null
    this.#utterance = null
    this.#closeStreams()
  }

  /** Switches to the caller's new language. */
  setLanguage(language: string): void {
    this.#language = language
    const stt = this.#active
    if (stt === null || this.#closed || languagesOf(stt).includes(language)) return
    const able = this.#options.recognisers.filter((choice) => supports(choice, language))
    const next = able.find((choice) => choice === stt.choice) ?? able.find((choice) => this.#usable(choice))
    if (next === undefined) {
      // The present stream goes on: partial understanding is better than none.
      const error = new EngineError('vendor_rejected', `there is no recogniser for ${language}`)
      this.#options.recogniserFailed(error, stt.choice.recogniser.id, null)
      return
    }
    const opened = this.#open(next)
    if (opened instanceof EngineError) {
      this.#streamFailed(stt, opened)
      return
    }
    stt.stream.close()
    this.#activate(opened)
  }

  /** Tells the recognisers whether the agent asked for a number. */
  expectNumber(expected: boolean): void {
    this.#numberExpected = expected
    this.#active?.stream.expectNumber?.(expected)
    this.#hedge?.stream.expectNumber?.(expected)
  }

  write(pcm: Int16Array, atMs: number): void {
    this.#lastMs = atMs
    this.#history?.write(pcm, atMs)
    if (this.#active !== null) this.#writeTo(this.#active, pcm, atMs)
    if (this.#hedge !== null) this.#writeTo(this.#hedge, pcm, atMs)
  }

  /** Returns the audio given to each recogniser since the last call. */
  takeAudioUsage(): readonly AudioUsage[] {
    return this.#options.recognisers.flatMap(({ recogniser, model }, at) => {
      const samples = this.#givenSamples[at] ?? 0
      this.#givenSamples[at] = 0
      const ms = (samples * 1000) / this.#options.rate
      return samples > 0 ? [{ vendor: recogniser.id, model, ms }] : []
    })
  }

  utteranceStart(atMs: number): void {
    this.#utterance = { startMs: this.#utterance?.startMs ?? atMs, endMs: null, finalReceived: false }
    this.#deadline?.cancel()
    this.#wait = null
    this.#active?.stream.utteranceStart(atMs)
    this.#hedge?.stream.utteranceStart(atMs)
  }

  utteranceEnd(atMs: number): void {
    const utterance = this.#utterance
    if (utterance !== null) this.#utterance = utterance.finalReceived ? null : { ...utterance, endMs: atMs }
    const owed = this.#utterance !== null && this.#hedge === null ? this.#active : null
    this.#wait = owed === null ? null : this.#options.breakers.deadlines.begin(keyOf(owed.choice))
    // The deadline is set first because a recogniser may answer within the call.
    this.#armDeadline()
    this.#active?.stream.utteranceEnd(atMs)
    this.#hedge?.stream.utteranceEnd(atMs)
  }

  /** Closes all streams. No event follows. Idempotent. */
  close(): void {
    this.#closed = true
    this.#reopening?.cancel()
    this.#closeStreams()
  }

  // ---- choice of recogniser

  /** Opens the first recogniser that is available, or the agent's own when none is. */
  #openFirst(): VendorFailure | null {
    const { recognisers } = this.#options
    const [own] = recognisers
    if (own === undefined) return new EngineError('config_invalid', 'the agent has no recogniser')
    const able = recognisers.filter((choice) => supports(choice, this.#language))
    // Recognisers with an open circuit are skipped, unless all have one.
    const first = able.find((choice) => this.#usable(choice)) ?? own
    const opened = this.#open(first)
    if (opened instanceof EngineError) {
      this.#options.breakers.failed(keyOf(first), false)
      this.#tried.add(first)
      return this.#failOver(first, opened) ? null : opened
    }
    if (first !== own) {
      const resting = new EngineError('vendor_unreachable', 'the recogniser failed on recent calls')
      this.#options.recogniserFailed(resting, own.recogniser.id, first.recogniser.id)
    }
    this.#activate(opened)
    return null
  }

  /** Returns the recogniser that could take over, or null. */
  #nextFallback(): RecogniserChoice | null {
    const { recognisers } = this.#options
    return (
      recognisers.find(
        (choice) =>
          choice !== this.#active?.choice &&
          choice !== this.#hedge?.choice &&
          !this.#tried.has(choice) &&
          supports(choice, this.#language) &&
          !this.#options.breakers.isOpen(keyOf(choice)),
      ) ?? null
    )
  }

  #usable(choice: RecogniserChoice): boolean {
    return !this.#tried.has(choice) && this.#options.breakers.allows(keyOf(choice))
  }

  #activate(stt: SttStream): void {
    this.#active = stt
    this.#options.capabilitiesChanged()
    this.#replay(stt)
  }

  #writeTo(stt: SttStream, pcm: Int16Array, atMs: number): void {
    stt.stream.write(pcm, atMs)
    this.#givenSamples[stt.index] = (this.#givenSamples[stt.index] ?? 0) + pcm.length
  }

  #open(choice: RecogniserChoice): SttStream | VendorFailure {
    const { languages, vocabulary, language: first, rate, recognisers } = this.#options
    const language = supports(choice, this.#language) ? this.#language : first
    const index = recognisers.indexOf(choice)
    const inUse = (stt: SttStream) => this.#active === stt || this.#hedge === stt
    const opened = openSttStream(
      choice,
      { rate, language, languages, vocabulary, index },
      {
        partial: (stt, text) => {
          if (this.#active !== stt) return
          // The caller has said more than was answered.
          if (this.#utterance?.finalReceived) this.#utterance = { ...this.#utterance, finalReceived: false }
          this.#options.partial(text)
        },
        final: (stt, text, words, detected) => {
          if (inUse(stt)) this.#finalReceived(stt, text, words, detected)
        },
        eagerEndOfTurn: (stt, complete) => {
          if (this.#active === stt) this.#options.eagerEndOfTurn(complete)
        },
        failed: (stt, error) => {
          if (inUse(stt)) this.#streamFailed(stt, error)
        },
      },
    )
    if (!(opened instanceof EngineError) && this.#numberExpected) opened.stream.expectNumber?.(true)
    return opened
  }

  /** Gives the stream the unanswered speech. */
  #replay(stt: SttStream): void {
    const fromMs = this.#utterance?.startMs ?? this.#lastMs
    const write = (pcm: Int16Array, atMs: number) => this.#writeTo(stt, pcm, atMs)
    const replay = new UtteranceReplay(stt.stream, this.#utterance, write)
    this.#history?.replay(fromMs - PRE_ROLL_MS, (pcm, atMs) => replay.write(pcm, atMs))
    replay.end()
  }

  // ---- results

  #finalReceived(
    stt: SttStream,
    text: string,
    words: readonly TimedWord[] | null,
    language: string | null,
  ): void {
    const speaking = this.#utterance !== null && this.#utterance.endMs === null
    if (stt === this.#hedge) {
      if (text === '') {
        // Neither recogniser found words: it was a cough.
        stt.stream.close()
        this.#hedge = null
        this.#utterance = null
        return
      }
      this.#wait?.timedOut()
      const late = new EngineError('vendor_stalled', 'no final text arrived in time')
      this.#promoteHedge(late)
    }
    this.#wait?.answered()
    this.#wait = null
    this.#deadline?.cancel()
    this.#hedge?.stream.close()
    this.#hedge = null
    this.#tried.clear()
    this.#options.breakers.succeeded(keyOf(stt.choice))
    this.#utterance = speaking ? { startMs: this.#lastMs, endMs: null, finalReceived: true } : null
    this.#options.final(text, words, language)
  }

  #streamFailed(stt: SttStream, error: VendorFailure): void {
    if (stt === this.#active) this.#wait = null
    this.#options.breakers.failed(keyOf(stt.choice), false)
    this.#tried.add(stt.choice)
    const untranscribed = stt.stream.untranscribed?.() ?? null
    stt.stream.close()
    if (stt === this.#hedge) {
      this.#hedge = null
      return
    }
    if (this.#hedge !== null) {
      this.#promoteHedge(error)
      return
    }
    if (this.#failOver(stt.choice, error, untranscribed)) return
    this.#active = null
    this.#deadline?.cancel()
    this.#options.failed(error)
  }

  /** Replaces a failed recogniser. Returns false when there is none left. */
  #failOver(
    failed: RecogniserChoice,
    error: VendorFailure,
    untranscribed: { readonly startMs: number; readonly endMs: number } | null = null,
  ): boolean {
    for (let next = this.#nextFallback(); next !== null; next = this.#nextFallback()) {
      const opened = this.#open(next)
      if (opened instanceof EngineError) {
        this.#tried.add(next)
        continue
      }
      const same = next.recogniser === failed.recogniser && next.model === failed.model
      if (!same && untranscribed !== null) this.#utterance ??= { ...untranscribed, finalReceived: false }
      this.#options.recogniserFailed(error, failed.recogniser.id, same ? null : next.recogniser.id)
      this.#activate(opened)
      this.#armDeadline()
      return true
    }
    return false
  }

  /** Makes the hedge the active stream. */
  #promoteHedge(error: VendorFailure): void {
    const { breakers, clock, recogniserFailed: replaced } = this.#options
    const before = this.#active
    const hedge = this.#hedge
    if (hedge === null) return
    this.#hedge = null
    if (before !== null) {
      const stalled = clock.now() - this.#hedgedAtMs >= this.#finalDeadlineMs(before) * (1 - HEDGE_AFTER)
      if (stalled && !this.#tried.has(before.choice)) breakers.failed(keyOf(before.choice), true)
      before.stream.close()
      replaced(error, before.choice.recogniser.id, hedge.choice.recogniser.id)
    }
    this.#active = hedge
    this.#options.capabilitiesChanged()
  }

  /** Starts the deadline of a pending final text. A late one starts a hedge. */
  #armDeadline(): void {
    this.#deadline?.cancel()
    const stt = this.#active
    const pending = this.#utterance !== null && this.#utterance.endMs !== null
    if (!pending || stt === null || this.#hedge !== null || this.#nextFallback() === null) return
    if (stt.stream.capabilities.ownFinalDeadline) return
    this.#deadline = this.#options.clock.after(this.#finalDeadlineMs(stt) * HEDGE_AFTER, () => {
      const next = this.#nextFallback()
      if (this.#closed || this.#utterance === null || this.#hedge !== null || next === null) return
      const opened = this.#open(next)
      if (opened instanceof EngineError) this.#tried.add(next)
      else {
        this.#hedge = opened
        this.#hedgedAtMs = this.#options.clock.now()
        this.#replay(opened)
      }
    })
  }

  #closeStreams(): void {
    this.#deadline?.cancel()
    this.#active?.stream.close()
    this.#hedge?.stream.close()
    this.#active = null
    this.#hedge = null
  }
}
