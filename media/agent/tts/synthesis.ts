import type { Clock, Timer } from '../../base/clock.js'
import { EngineError, errorText } from '../../base/errors.js'
import type { Rate, SessionRate } from '../../base/frame.js'
import { openResampler } from '../../codec/resampler.js'
import { breakerKey, type CircuitBreakers } from '../circuit-breaker.js'
import type { Cancellable, TextToSpeech, VendorFailure } from '../vendor-ports.js'
import { resumeOffset, type SpokenWord } from './heard-text.js'
import { LeadingSilenceTrimmer } from './leading-silence.js'

/** A voice of one vendor; the first that works and speaks the language is used. */
export interface VoiceChoice {
  readonly tts: TextToSpeech
  readonly voice: string
  readonly model: string | null
  readonly pace: number
  /** How long its first sound is waited for where that is longer than usual. */
  readonly firstAudioLimitMs?: number
  /** Absent: every language of the agent. */
  readonly languages?: readonly string[]
  /** It speaks no more: passed over without a word. */
  readonly unavailable?: boolean
  /** It needs no network and is nobody's choice: what is waited for when nothing else is left. */
  readonly embedded?: boolean
}

export interface SynthesisEvents {
  /** A vendor is sent this much text, at first and at every new try. */
  requested(choice: VoiceChoice, characters: number): void
  /** Sound at the session rate, leading silence removed. Owned by the receiver. */
  audio(pcm: Int16Array): void
  /** `sample` counts from the first sample of this synthesis. */
  word(word: SpokenWord): void
  done(): void
  /** No voice is left. */
  failed(error: VendorFailure): void
}

/** A vendor's own deadline counts only up to this: two voices in turn must fit into 3 s. */
const FIRST_AUDIO_LIMIT_MS = 1000
/** The same when another hosted voice can speak instead (Dead_air in the table of figures). */
const FIRST_AUDIO_WITH_FALLBACK_MS = 600
/** The last voice has nobody after it: beginning again would only take longer. */
const FIRST_AUDIO_OF_LAST_MS = 1900
/** Longest gap within one sentence. */
const STALL_MS = 1500
/** Nobody says a sentence for so long; a vendor that does is broken. */
const LONGEST_MS = 60_000

/** A failure of a voice, and the vendor that speaks instead; null: the same one tries again, or nobody. */
export type OnVoiceFailure = (error: VendorFailure, vendor: string, instead: string | null) => void

/**
 * Says sentences through the first voice that works and speaks their language: one retry after a quick
 * failure, then the next voice, for the rest of the call; for one sentence when it was only late, once. What was already said of a broken sentence is
 * not repeated. A vendor that failed on other calls just now is not waited for.
 */
export class Synthesiser {
  readonly #voices: readonly VoiceChoice[]
  readonly #rate: SessionRate
  readonly #clock: Clock
  readonly #breakers: CircuitBreakers
  readonly #onFailure: OnVoiceFailure
  readonly #givenUp = new Set<VoiceChoice>()
  /** Were waited for in vain once. */
  readonly #late = new Set<VoiceChoice>()
  /** Languages that the agent's own voice does not speak, told once. */
  readonly #reportedLanguages = new Set<string>()

  constructor(options: {
    readonly voices: readonly VoiceChoice[]
    readonly rate: SessionRate
    readonly clock: Clock
    readonly breakers: CircuitBreakers
    /** Every failure, also those that a retry heals. */
    readonly trouble: OnVoiceFailure
  }) {
    this.#voices = options.voices
    this.#rate = options.rate
    this.#clock = options.clock
    this.#breakers = options.breakers
    this.#onFailure = options.trouble
  }

  /** Whether another than the agent's own voice may have spoken. */
  get degraded(): boolean {
    return (
      this.#givenUp.size + this.#late.size > 0 || this.#voices.some(({ unavailable: gone }) => gone === true)
    )
  }

  /**
   * Callbacks never come before this returned, nor after `cancel`. `patient`: nobody is on the line yet,
   * so that a connection may take its time.
   */
  speak(text: string, language: string, events: SynthesisEvents, patient = false): Cancellable {
    return new Sentence(text, language, events, {
      rate: this.#rate,
      clock: this.#clock,
      voice: (skipped) => this.#voice(language, skipped),
      limitMs: (choice, skipped) => {
        const next = this.#fallbackFor(choice, language, skipped)
        const usualMs = patient || next?.embedded ? FIRST_AUDIO_LIMIT_MS : FIRST_AUDIO_WITH_FALLBACK_MS
        const limitMs = next === undefined ? FIRST_AUDIO_OF_LAST_MS : usualMs
        return Math.min(choice.tts.firstAudioDeadlineMs, choice.firstAudioLimitMs ?? limitMs)
      },
      began: (choice) => this.#breakers.succeeded(keyOf(choice)),
      failed: (choice, error, { timedOut, tries, skipped }) => {
        this.#breakers.failed(keyOf(choice), timedOut)
        const next = this.#fallbackFor(choice, language, skipped)
        // Waiting twice for a silent vendor would be dead air.
        if (tries < 2 && !(timedOut && next !== undefined)) {
          this.#onFailure(error, choice.tts.id, null)
          return true
        }
        this.#onFailure(error, choice.tts.id, next?.tts.id ?? null)
        if (next === undefined) return false
        // Late once is a busy moment: the voice of the whole call does not change for it.
        if (timedOut && !this.#late.has(choice)) {
          this.#late.add(choice)
          skipped.add(choice)
        } else this.#givenUp.add(choice)
        return true
      },
    })
  }

  get #available(): readonly VoiceChoice[] {
    return this.#voices.filter((choice) => !this.#givenUp.has(choice) && choice.unavailable !== true)
  }

  /** Voices that can speak it, best first. */
  #speakersOf(language: string): readonly VoiceChoice[] {
    return this.#available.filter((choice) => speaks(choice, language))
  }

  /** Who would speak instead of it. */
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
      // The last one is asked in any case.
      if (next !== undefined && !this.#breakers.allows(keyOf(choice))) {
        const resting = new EngineError('vendor_unreachable', 'the voice failed on other calls just now')
        this.#onFailure(resting, choice.tts.id, next.tts.id)
        this.#givenUp.add(choice)
        continue
      }
      if (own !== undefined && !speaks(own, language)) this.#reportUnsupported(own, choice, language)
      return choice
    }
    // No voice speaks it: better an accent than silence.
    return this.#available[0] ?? this.#voices.at(-1)
  }

  #reportUnsupported(own: VoiceChoice, instead: VoiceChoice, language: string): void {
    if (this.#reportedLanguages.has(language)) return
    this.#reportedLanguages.add(language)
    const error = new EngineError('vendor_rejected', `the voice ${own.voice} does not speak ${language}`)
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
  readonly clock: Clock
  /** `skipped`: those that this sentence was waited for in vain from. */
  voice(skipped: ReadonlySet<VoiceChoice>): VoiceChoice | undefined
  /** By when its first sound has to be there. */
  limitMs(choice: VoiceChoice, skipped: ReadonlySet<VoiceChoice>): number
  /** It speaks. */
  began(choice: VoiceChoice): void
  /** Whether to try again; whoever is not asked again for this sentence is added to `skipped`. */
  failed(
    choice: VoiceChoice,
    error: VendorFailure,
    how: { readonly timedOut: boolean; readonly tries: number; readonly skipped: Set<VoiceChoice> },
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
  #samples = 0
  readonly #words: SpokenWord[] = []

  constructor(text: string, language: string, events: SynthesisEvents, deps: SentenceDeps) {
    this.#text = text
    this.#language = language
    this.#events = events
    this.#deps = deps
    // In a turn of its own: a vendor that fails at once must not answer before the caller has a handle.
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
    const live = () => !this.#closed && this.#attempt === attempt
    const receive = this.#receiver(offset)
    this.#lastAudioMs = -1
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
        },
        {
          audio: (pcm, rate) => {
            if (live()) receive.audio(pcm, rate)
          },
          word: (at, length, atMs) => {
            if (live()) receive.word(at, length, atMs)
          },
          done: () => {
            if (live()) this.#done()
          },
          failed: (error) => {
            if (live()) this.#fail(error, false)
          },
        },
      )
      if (live()) this.#job = job
      else job.cancel()
    } catch (error) {
      if (live()) this.#fail(toVendorFailure(error), false)
    }
  }

  /** Sound and words of one attempt; `offset` is where in the text it began. */
  #receiver(offset: number): {
    audio(pcm: Int16Array, rate: Rate): void
    word(at: number, length: number, atMs: number): void
  } {
    const { rate } = this.#deps
    const trim = new LeadingSilenceTrimmer(rate)
    const first = this.#samples
    let resampler: ReturnType<typeof openResampler> | null = null
    let early: { at: number; length: number; atMs: number }[] | null = []
    const tell = (at: number, length: number, atMs: number) => {
      const sample = first + Math.max(0, Math.round((atMs * rate) / 1000) - trim.dropped)
      const word = { offset: offset + at, length, sample }
      this.#words.push(word)
      this.#events.word(word)
    }
    return {
      audio: (pcm, from) => {
        if (from !== rate) resampler ??= openResampler(from, rate)
        // The resampler's output is its own scratch; ours is kept.
        const sound = trim.push(resampler ? resampler.process(pcm).slice() : pcm)
        if (sound.length === 0) return
        if (this.#lastAudioMs < 0 && this.#triedVoice) this.#deps.began(this.#triedVoice)
        this.#lastAudioMs = this.#deps.clock.now()
        this.#samples += sound.length
        if (this.#samples > (LONGEST_MS * rate) / 1000) {
          return this.#fail(new EngineError('vendor_failed', 'the synthesis does not end'), false)
        }
        // Until here the number of dropped samples was not known.
        const waiting = early
        early = null
        for (const word of waiting ?? []) tell(word.at, word.length, word.atMs)
        this.#events.audio(sound)
      },
      word: (at, length, atMs) => {
        if (early) early.push({ at, length, atMs })
        else tell(at, length, atMs)
      },
    }
  }

  #arm(ms: number): void {
    this.#timer?.cancel()
    this.#timer = this.#deps.clock.after(ms, () => {
      this.#timer = null
      // One timer for all chunks: it looks when the last one came.
      if (this.#lastAudioMs >= 0) {
        const left = this.#lastAudioMs + STALL_MS - this.#deps.clock.now()
        if (left > 1) return this.#arm(left)
      }
      const what = this.#lastAudioMs < 0 ? 'did not begin to speak in time' : 'stopped within a sentence'
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
    const how = { timedOut, tries: this.#tries, skipped: this.#skipped }
    const again = choice !== undefined && this.#deps.failed(choice, error, how)
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
