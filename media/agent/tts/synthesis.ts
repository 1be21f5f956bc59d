import type { Clock, Timer } from '../../base/clock.js'
import { EngineError, errorText } from '../../base/errors.js'
import type { SessionRate } from '../../base/frame.js'
import type { Scope } from '../../base/scope.js'
import { openResampler } from '../../codec/resampler.js'
import { breakerKey, type CircuitBreakers } from '../circuit-breaker.js'
import type { PendingWait } from '../learnt-deadlines.js'
import type { Cancellable, SpeakEvents, SpeakRequest, TextToSpeech, VendorFailure } from '../vendor-ports.js'
import { resumeOffset, type SpokenWord } from './heard-text.js'
import { LeadingSilenceTrimmer } from './leading-silence.js'

/** A voice of one vendor. */
export interface VoiceChoice {
  readonly tts: TextToSpeech
  readonly voice: string
  readonly model: string | null
  readonly pace: number
  /** Deadline (ms) for the first audio when it differs from the default. */
  readonly firstAudioLimitMs?: number
  /** Languages that the voice speaks. Absent means every language of the agent. */
  readonly languages?: readonly string[]
  /** The voice is gone and is skipped without a report. */
  readonly unavailable?: boolean
  /** The embedded voice. It needs no network and is the last resort. */
  readonly embedded?: boolean
}

export interface SynthesisEvents {
  /** Text is sent to a vendor, once per attempt. */
  requested(choice: VoiceChoice, characters: number): void
  /** Delivers audio at the session rate without leading silence. Owned by the receiver. */
  audio(pcm: Int16Array): void
  /** Reports a word. `sample` counts from the first sample of this synthesis. */
  word(word: SpokenWord): void
  done(): void
  /** No voice is left. */
  failed(error: VendorFailure): void
}

/** Upper limit of a vendor's own first-audio deadline: two voices in turn must fit into 3 s. */
export const FIRST_AUDIO_LIMIT_MS = 1000
/** The limit when another hosted voice can take over. */
export const FIRST_AUDIO_WITH_FALLBACK_MS = 600
/** The limit of the last voice. Starting again would only take longer. */
export const FIRST_AUDIO_OF_LAST_MS = 1900
/** Longest gap within one sentence. */
const STALL_MS = 1500
/** Longest audio of one sentence. A vendor that exceeds it is broken. */
const MAX_SENTENCE_MS = 60_000

export interface SpeakOptions {
  /** Allows a connection to take longer, before the call is answered. */
  readonly patient?: boolean
  /** The reply that the text is a part of, closed when no further text follows. */
  readonly reply?: Scope
}

/**
 * Reports a failed voice and the vendor that takes over. `instead` is null for a retry, or when none is left.
 */
export type OnVoiceFailure = (error: VendorFailure, vendor: string, instead: string | null) => void

/**
 * Speaks sentences with the first working voice that speaks their language. A quick failure is retried once;
 * then the next voice takes over for the rest of the call. A first timeout replaces the voice for one
 * sentence only. The spoken part of a broken sentence is not repeated. Voices with an open circuit are
 * skipped.
 */
export class Synthesiser {
  readonly #voices: readonly VoiceChoice[]
  readonly #rate: SessionRate
  readonly #call: Scope
  readonly #clock: Clock
  readonly #breakers: CircuitBreakers
  readonly #onFailure: OnVoiceFailure
  readonly #givenUp = new Set<VoiceChoice>()
  /** Voices with one timeout. */
  readonly #late = new Set<VoiceChoice>()
  /** Languages already reported as not spoken by the agent's own voice. */
  readonly #reportedLanguages = new Set<string>()

  constructor(options: {
    readonly voices: readonly VoiceChoice[]
    readonly rate: SessionRate
    /** Closed at the end of the call. */
    readonly call: Scope
    readonly clock: Clock
    readonly breakers: CircuitBreakers
    /** Reports every failure, including those that a retry fixes. */
    readonly onFailure: OnVoiceFailure
  }) {
    this.#voices = options.voices
    this.#rate = options.rate
    this.#call = options.call
    this.#clock = options.clock
    this.#breakers = options.breakers
    this.#onFailure = options.onFailure
  }

  /** True if a fallback voice may have spoken. */
  get degraded(): boolean {
    return (
      this.#givenUp.size + this.#late.size > 0 || this.#voices.some(({ unavailable: gone }) => gone === true)
    )
  }

  /**
   * Tells whether the voice of a language wants the next text of a reply as soon as the audio of the last one is
   * there.
   */
  followsAtOnce(language: string): boolean {
    return this.#speakersOf(language)[0]?.tts.followsAtOnce ?? false
  }

  /** Speaks a text. Callbacks never run before `speak` returns or after `cancel`. */
  speak(
    text: string,
    language: string,
    events: SynthesisEvents,
    { patient = false, reply }: SpeakOptions = {},
  ): Cancellable {
    return new Sentence(text, language, events, {
      rate: this.#rate,
      belongsTo: { call: this.#call, ...(reply ? { reply } : {}) },
      clock: this.#clock,
      voice: (skipped) => this.#voice(language, skipped),
      // The delay of a connection before the call is answered says little about later sentences.
      wait: (choice) => (patient ? null : this.#breakers.deadlines.begin(keyOf(choice))),
      limitMs: (choice, skipped) =>
        this.#limitMs(choice, this.#fallbackFor(choice, language, skipped), patient),
      began: (choice) => this.#breakers.succeeded(keyOf(choice)),
      failed: (choice, error, { timedOut, tries, skipped }) => {
        this.#breakers.failed(keyOf(choice), timedOut)
        const next = this.#fallbackFor(choice, language, skipped)
        // A second wait for a silent vendor would be dead air.
        if (tries < 2 && !(timedOut && next !== undefined)) {
          this.#onFailure(error, choice.tts.id, null)
          return true
        }
        this.#onFailure(error, choice.tts.id, next?.tts.id ?? null)
        if (next === undefined) return false
        // One timeout may be a short overload, so the voice of the whole call stays.
        if (timedOut && !this.#late.has(choice)) {
          this.#late.add(choice)
          skipped.add(choice)
        } else this.#givenUp.add(choice)
        return true
      },
    })
  }

  /** Returns the deadline (ms) for the first audio of a voice that `next` would replace. */
  #limitMs(choice: VoiceChoice, next: VoiceChoice | undefined, patient: boolean): number {
    const { firstAudioDeadlineMs: usualMs, deadlineSet } = choice.tts
    if (deadlineSet) return usualMs
    // A voice is not given up sooner than usual: a sentence in another voice is worse than a short wait.
    const bounds = { leastMs: usualMs, usualMs, mostMs: Math.max(usualMs, FIRST_AUDIO_OF_LAST_MS) }
    const learntMs = this.#breakers.deadlines.of(keyOf(choice), bounds)
    const alone = next === undefined || (learntMs > usualMs && (patient || next.embedded === true))
    const shared = patient || next?.embedded ? FIRST_AUDIO_LIMIT_MS : FIRST_AUDIO_WITH_FALLBACK_MS
    const limitMs = alone ? FIRST_AUDIO_OF_LAST_MS : shared
    return Math.min(learntMs, choice.firstAudioLimitMs ?? limitMs)
  }

  get #available(): readonly VoiceChoice[] {
    return this.#voices.filter((choice) => !this.#givenUp.has(choice) && choice.unavailable !== true)
  }

  /** Returns the available voices for a language, best first. */
  #speakersOf(language: string): readonly VoiceChoice[] {
    return this.#available.filter((choice) => speaks(choice, language))
  }

  /** Returns the voice that would take over from `choice`. */
  #fallbackFor(
    choice: VoiceChoice,
    language: string,
    skipped: ReadonlySet<VoiceChoice>,
  ): VoiceChoice | undefined {
    return this.#speakersOf(language).find((other) => other !== choice && !skipped.has(other))
  }

  #voice(language: string, skipped: ReadonlySet<VoiceChoice>): VoiceChoice | undefined {
    const able = this.#speakersOf(language).filter((choice) => !skipped.has(choice))
    const [own] = this.#voices.filter(({ unavailable: gone }) => gone !== true)
    for (const [index, choice] of able.entries()) {
      const next = able[index + 1]
      // The last voice is used in any case.
      if (next !== undefined && !this.#breakers.allows(keyOf(choice))) {
        const resting = new EngineError('vendor_unreachable', 'the voice failed on recent calls')
        this.#onFailure(resting, choice.tts.id, next.tts.id)
        this.#givenUp.add(choice)
        continue
      }
      if (own !== undefined && !speaks(own, language)) this.#reportUnsupported(own, choice, language)
      return choice
    }
    // No voice speaks the language. An accent is better than silence.
    return this.#available[0] ?? this.#voices.at(-1)
  }

  #reportUnsupported(own: VoiceChoice, instead: VoiceChoice, language: string): void {
    if (this.#reportedLanguages.has(language)) return
    this.#reportedLanguages.add(language)
    const error = new EngineError('vendor_rejected', `the voice ${own.voice} does not support ${language}`)
    this.#onFailure(error, own.tts.id, instead.tts.id)
  }
}

function speaks({ languages }: VoiceChoice, language: string): boolean {
  return languages?.includes(language) ?? true
}

function keyOf({ tts, model }: VoiceChoice): string {
  return breakerKey('text_to_speech', tts.id, model)
}

interface SentenceDeps {
  readonly rate: SessionRate
  readonly belongsTo: Pick<SpeakRequest, 'call' | 'reply'>
  readonly clock: Clock
  /** Returns the voice for the next attempt. `skipped` holds voices that timed out for this sentence. */
  voice(skipped: ReadonlySet<VoiceChoice>): VoiceChoice | undefined
  /** Notes the begin of an attempt. Null notes nothing. */
  wait(choice: VoiceChoice): PendingWait | null
  /** Returns the deadline (ms) for the first audio. */
  limitMs(choice: VoiceChoice, skipped: ReadonlySet<VoiceChoice>): number
  /** The voice delivered its first audio. */
  began(choice: VoiceChoice): void
  /**
   * Handles a failure. Returns whether to try again. Adds a voice to `skipped` when it must not be used again
   * for this sentence.
   */
  failed(
    choice: VoiceChoice,
    error: VendorFailure,
    attempt: { readonly timedOut: boolean; readonly tries: number; readonly skipped: Set<VoiceChoice> },
  ): boolean
}

class Sentence implements Cancellable {
  readonly #text: string
  readonly #language: string
  readonly #events: SynthesisEvents
  readonly #deps: SentenceDeps
  #closed = false
  #job: Cancellable | null = null
  #attempt = 0
  #tries = 0
  #triedVoice: VoiceChoice | undefined
  readonly #skipped = new Set<VoiceChoice>()
  #timer: Timer | null = null
  #lastAudioMs = 0
  #wait: PendingWait | null = null
  #samples = 0
  readonly #words: SpokenWord[] = []

  constructor(text: string, language: string, events: SynthesisEvents, deps: SentenceDeps) {
    this.#text = text
    this.#language = language
    this.#events = events
    this.#deps = deps
    // Deferred so that a vendor that fails at once reports after the caller has the handle.
    queueMicrotask(() => this.#begin())
  }

  cancel(): void {
    this.#closed = true
    this.#stopAttempt()
  }

  #begin(): void {
    const choice = this.#deps.voice(this.#skipped)
    if (this.#closed || !choice) return
    if (choice !== this.#triedVoice) this.#tries = 0
    this.#triedVoice = choice
    this.#tries++
    const attempt = ++this.#attempt
    const offset =
      this.#samples === 0
        ? 0
        : resumeOffset(
            {
              text: this.#text,
              start: 0,
              samples: this.#samples,
              voiced: this.#samples,
              complete: false,
              words: this.#words,
            },
            this.#deps.rate,
          )
    const text = this.#text.slice(offset)
    if (text.trim() === '') {
      this.#done()
      return
    }
    const isCurrent = () => !this.#closed && this.#attempt === attempt
    const receiver = this.#receiver(offset, isCurrent)
    this.#lastAudioMs = -1
    this.#wait = this.#deps.wait(choice)
    this.#arm(this.#deps.limitMs(choice, this.#skipped))
    this.#events.requested(choice, text.length)
    try {
      const job = choice.tts.speak(
        {
          text,
          voice: choice.voice,
          model: choice.model,
          language: this.#language,
          pace: choice.pace,
          rate: this.#deps.rate,
          ...this.#deps.belongsTo,
        },
        receiver,
      )
      if (isCurrent()) this.#job = job
      else job.cancel()
    } catch (error) {
      if (isCurrent()) this.#fail(toVendorFailure(error), false)
    }
  }

  /**
   * Returns the receiver of one attempt, which ignores events once the attempt is over. `offset` is where in the text
   * the attempt began.
   */
  #receiver(offset: number, isCurrent: () => boolean): SpeakEvents {
    const { rate } = this.#deps
    const trim = new LeadingSilenceTrimmer(rate)
    const first = this.#samples
    let resampler: ReturnType<typeof openResampler> | null = null
    let held: { at: number; length: number; atMs: number }[] | null = []
    const report = (at: number, length: number, atMs: number) => {
      const sample = first + Math.max(0, Math.round((atMs * rate) / 1000) - trim.dropped)
      const word = { offset: offset + at, length, sample }
      this.#words.push(word)
      this.#events.word(word)
    }
    return {
      audio: (pcm, from) => {
        if (!isCurrent()) return
        if (from !== rate) resampler ??= openResampler(from, rate)
        // The resampler reuses its output buffer, so the samples are copied.
        const trimmed = trim.push(resampler ? resampler.process(pcm).slice() : pcm)
        if (trimmed.length === 0) return
        if (this.#lastAudioMs < 0 && this.#triedVoice) {
          this.#wait?.answered()
          this.#deps.began(this.#triedVoice)
        }
        this.#lastAudioMs = this.#deps.clock.now()
        this.#samples += trimmed.length
        if (this.#samples > (MAX_SENTENCE_MS * rate) / 1000) {
          return this.#fail(
            new EngineError('vendor_failed', 'the synthesis of one sentence is too long'),
            false,
          )
        }
        // The number of dropped samples is known only now.
        const waiting = held
        held = null
        for (const word of waiting ?? []) report(word.at, word.length, word.atMs)
        this.#events.audio(trimmed)
      },
      word: (at, length, atMs) => {
        if (!isCurrent()) return
        if (held) held.push({ at, length, atMs })
        else report(at, length, atMs)
      },
      done: () => {
        if (isCurrent()) this.#done()
      },
      failed: (error) => {
        if (isCurrent()) this.#fail(error, false)
      },
    }
  }

  #arm(ms: number): void {
    this.#timer?.cancel()
    this.#timer = this.#deps.clock.after(ms, () => {
      this.#timer = null
      // One timer serves all chunks. It checks the time of the last one.
      if (this.#lastAudioMs >= 0) {
        const left = this.#lastAudioMs + STALL_MS - this.#deps.clock.now()
        if (left > 1) return this.#arm(left)
      }
      if (this.#lastAudioMs < 0) this.#wait?.timedOut()
      const what = this.#lastAudioMs < 0 ? 'sent no audio in time' : 'stalled within a sentence'
      this.#fail(new EngineError('vendor_stalled', `the synthesis ${what}`, { retryable: true }), true)
    })
  }

  #done(): void {
    this.cancel()
    this.#events.done()
  }

  #fail(error: VendorFailure, timedOut: boolean): void {
    this.#stopAttempt()
    const choice = this.#triedVoice
    const attempt = { timedOut, tries: this.#tries, skipped: this.#skipped }
    const again = choice !== undefined && this.#deps.failed(choice, error, attempt)
    if (this.#closed) return
    if (again) {
      this.#begin()
      return
    }
    this.#closed = true
    this.#events.failed(error)
  }

  #stopAttempt(): void {
    this.#attempt++
    this.#timer?.cancel()
    this.#timer = null
    this.#job?.cancel()
    this.#job = null
  }
}

export function toVendorFailure(error: unknown): VendorFailure {
  return error instanceof EngineError
    ? error
    : new EngineError('vendor_failed', errorText(error), { cause: error })
}
