import type { Clock, Timer } from '../../base/clock.js'
import { EngineError } from '../../base/errors.js'
import type { SessionRate } from '../../base/frame.js'
import type { RecognitionMode, TimedWord } from '../agent-spec.js'
import { breakerKey, type CircuitBreakers } from '../circuit-breaker.js'
import { toVendorFailure } from '../tts/synthesis.js'
import type {
  SpeechToText,
  SpeechToTextCapabilities,
  SpeechToTextStream,
  VendorFailure,
} from '../vendor-ports.js'
import { AudioHistory } from './audio-history.js'

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
/** What another recogniser can be given of an utterance that was not answered. */
const MEMORY_MS = 4000
/** Before the detector's onset: the first consonant; and what the detector needs to tell it. */
const PRE_ROLL_MS = 300
const ONSET_TOLD_MS = 100
/** What the next recogniser may take at least, from being asked. */
const RESCUE_MS = 700
/** It is asked after this part of what the first one takes at most (p99): few answers are so late. */
const LATE = 0.5

/** A recogniser as the agent uses it. */
export interface RecogniserChoice {
  readonly recogniser: SpeechToText
  readonly model: string | null
  readonly mode: RecognitionMode
  /** What the model understands; null: whatever it is opened for. */
  readonly languages: readonly string[] | null
}

export interface SttFailoverOptions {
  /** All that may be spoken, and what is expected at first. */
  readonly languages: readonly string[]
  readonly language: string
  readonly rate: SessionRate
  /** The agent's own first, then those that go on when it fails. */
  readonly recognisers: readonly RecogniserChoice[]
  readonly breakers: CircuitBreakers
  readonly clock: Clock
  partial(text: string): void
  final(text: string, words: readonly TimedWord[] | null, language: string | null): void
  eagerEndOfTurn(complete: boolean): void
  /** Nobody is left to go on; `reopen` begins again. */
  failed(error: VendorFailure): void
  /** It failed, or cannot hear what is spoken now; `instead` goes on, given what was not answered. */
  recogniserFailed(error: VendorFailure, vendor: string, instead: string | null): void
  /** The capabilities are other ones now. */
  capabilitiesChanged(): void
}

/** What a recogniser was given to hear, for the account. */
export interface AudioUsage {
  readonly vendor: string
  readonly model: string | null
  readonly ms: number
}

/** A stream and the recogniser it is of. */
interface SttStream {
  readonly choice: RecogniserChoice
  /** Its place among the recognisers. */
  readonly index: number
  readonly language: string
  readonly stream: SpeechToTextStream
}

/** What the detector heard and nobody has answered. */
interface Utterance {
  readonly startMs: number
  /** Null while it lasts. */
  readonly endMs: number | null
  /** A final text came while it lasted; it may have been all. */
  readonly finalReceived: boolean
}

/**
 * The recogniser's stream of one call. When it fails, or a final text is late, another recogniser hears
 * what was not answered (4 s at most); of two at work the first to answer stays. Opened again after a
 * failure of all, and when the caller speaks what the stream does not hear.
 */
export class SttFailover {
  readonly #options: SttFailoverOptions
  readonly #history: AudioHistory | null
  #active: SttStream | null = null
  /** Asked beside the other, which is late. */
  #hedge: SttStream | null = null
  #hedgedAtMs = 0
  /** Failed since a text last came. */
  readonly #tried = new Set<RecogniserChoice>()
  #language: string
  #utterance: Utterance | null = null
  #lastMs = 0
  #reopening: Timer | null = null
  #deadline: Timer | null = null
  #closed = false
  /** Samples, by recogniser. */
  readonly #givenSamples: number[]

  constructor(options: SttFailoverOptions) {
    this.#options = options
    this.#language = options.language
    this.#givenSamples = options.recognisers.map(() => 0)
    const alone = options.recognisers.length < 2 && options.languages.length < 2
    this.#history = alone ? null : new AudioHistory(options.rate, MEMORY_MS)
  }

  get capabilities(): SpeechToTextCapabilities {
    const capabilities = this.#active?.stream.capabilities ?? UNKNOWN
    if (this.#nextFallback() === null) return capabilities
    const { finalDeadlineMs } = capabilities
    return { ...capabilities, finalDeadlineMs: Math.max(finalDeadlineMs, finalDeadlineMs * LATE + RESCUE_MS) }
  }

  /** Returns why none could be opened, null when one was. */
  open(): VendorFailure | null {
    return this.#openFirst()
  }

  /** After `failed`, in a moment. What the caller is saying meanwhile is heard from its beginning. */
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

  /** The caller speaks this language now. */
  setLanguage(language: string): void {
    this.#language = language
    const line = this.#active
    if (line === null || this.#closed || languagesOf(line).includes(language)) return
    const able = this.#options.recognisers.filter((choice) => supports(choice, language))
    const next = able.find((choice) => choice === line.choice) ?? able.find((choice) => this.#usable(choice))
    if (next === undefined) {
      // The ear stays as it is: half understood is better than not at all.
      const error = new EngineError('vendor_rejected', `no recogniser is there for ${language}`)
      this.#options.recogniserFailed(error, line.choice.recogniser.id, null)
      return
    }
    const opened = this.#open(next)
    if (opened instanceof EngineError) {
      this.#streamFailed(line, opened)
      return
    }
    line.stream.close()
    this.#activate(opened)
  }

  write(pcm: Int16Array, atMs: number): void {
    this.#lastMs = atMs
    this.#history?.write(pcm, atMs)
    if (this.#active !== null) this.#writeTo(this.#active, pcm, atMs)
    if (this.#hedge !== null) this.#writeTo(this.#hedge, pcm, atMs)
  }

  /** Sound given to each recogniser since the last call of this. */
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
    this.#active?.stream.utteranceStart(atMs)
    this.#hedge?.stream.utteranceStart(atMs)
  }

  utteranceEnd(atMs: number): void {
    const utterance = this.#utterance
    if (utterance !== null) this.#utterance = utterance.finalReceived ? null : { ...utterance, endMs: atMs }
    // First the timer: a recogniser may answer within the call.
    this.#armDeadline()
    this.#active?.stream.utteranceEnd(atMs)
    this.#hedge?.stream.utteranceEnd(atMs)
  }

  /** Idempotent; no event follows. */
  close(): void {
    this.#closed = true
    this.#reopening?.cancel()
    this.#closeStreams()
  }

  // ---- who hears

  /** The first that may be asked; the agent's own when none may. */
  #openFirst(): VendorFailure | null {
    const { recognisers } = this.#options
    const [own] = recognisers
    if (own === undefined) return new EngineError('config_invalid', 'the agent has no recogniser')
    const able = recognisers.filter((choice) => supports(choice, this.#language))
    // What rests is left out, unless all do.
    const first = able.find((choice) => this.#usable(choice)) ?? own
    const opened = this.#open(first)
    if (opened instanceof EngineError) {
      this.#options.breakers.failed(keyOf(first), false)
      this.#tried.add(first)
      return this.#failOver(first, opened) ? null : opened
    }
    if (first !== own) {
      const resting = new EngineError('vendor_unreachable', 'the recogniser failed on other calls just now')
      this.#options.recogniserFailed(resting, own.recogniser.id, first.recogniser.id)
    }
    this.#activate(opened)
    return null
  }

  /** Who could go on for the present one. */
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

  #activate(line: SttStream): void {
    this.#active = line
    this.#options.capabilitiesChanged()
    this.#replay(line)
  }

  #writeTo(line: SttStream, pcm: Int16Array, atMs: number): void {
    line.stream.write(pcm, atMs)
    this.#givenSamples[line.index] = (this.#givenSamples[line.index] ?? 0) + pcm.length
  }

  #open(choice: RecogniserChoice): SttStream | VendorFailure {
    const { languages, language: first, rate } = this.#options
    const known = choice.languages
    const language = known === null || known.includes(this.#language) ? this.#language : first
    let line: SttStream | null = null
    const mine = () => line !== null && (this.#active === line || this.#hedge === line)
    try {
      const stream = choice.recogniser.open(
        {
          rate,
          language,
          languages: languages.filter((tag) => known === null || known.includes(tag)),
          model: choice.model,
          mode: choice.mode,
        },
        {
          partial: (text) => {
            if (line === null || this.#active !== line) return
            // Something is said beyond what was answered.
            if (this.#utterance?.finalReceived) this.#utterance = { ...this.#utterance, finalReceived: false }
            this.#options.partial(text)
          },
          final: (text, words, heard = null) => {
            if (line !== null && mine()) this.#finalReceived(line, text, words, heard)
          },
          eagerEndOfTurn: (complete) => {
            if (line !== null && this.#active === line) this.#options.eagerEndOfTurn(complete)
          },
          failed: (error) => {
            if (line !== null && mine()) this.#streamFailed(line, error)
          },
        },
      )
      line = { choice, index: this.#options.recognisers.indexOf(choice), language, stream }
      return line
    } catch (error) {
      return toVendorFailure(error)
    }
  }

  /** Gives it what is not answered yet. */
  #replay(line: SttStream): void {
    const { stream } = line
    const utterance = this.#utterance
    const fromMs = (utterance?.startMs ?? this.#lastMs) - PRE_ROLL_MS
    let told = utterance === null
    this.#history?.replay(fromMs, (pcm, atMs) => {
      if (utterance !== null && !told && atMs >= utterance.startMs + ONSET_TOLD_MS) {
        told = true
        stream.utteranceStart(utterance.startMs)
      }
      this.#writeTo(line, pcm, atMs)
    })
    if (utterance === null) return
    if (!told) stream.utteranceStart(utterance.startMs)
    if (utterance.endMs !== null) stream.utteranceEnd(utterance.endMs)
  }

  // ---- what they say

  #finalReceived(
    line: SttStream,
    text: string,
    words: readonly TimedWord[] | null,
    language: string | null,
  ): void {
    const speaking = this.#utterance !== null && this.#utterance.endMs === null
    if (line === this.#hedge) {
      if (text === '') {
        // Nothing for the one and nothing for the other: a cough.
        line.stream.close()
        this.#hedge = null
        this.#utterance = null
        return
      }
      const late = new EngineError('vendor_stalled', 'no text came in time for what the caller said')
      this.#promoteHedge(late)
    }
    this.#deadline?.cancel()
    this.#hedge?.stream.close()
    this.#hedge = null
    this.#tried.clear()
    this.#options.breakers.succeeded(keyOf(line.choice))
    this.#utterance = speaking ? { startMs: this.#lastMs, endMs: null, finalReceived: true } : null
    this.#options.final(text, words, language)
  }

  #streamFailed(line: SttStream, error: VendorFailure): void {
    this.#options.breakers.failed(keyOf(line.choice), false)
    this.#tried.add(line.choice)
    const unwritten = line.stream.untranscribed?.() ?? null
    line.stream.close()
    if (line === this.#hedge) {
      this.#hedge = null
      return
    }
    if (this.#hedge !== null) {
      this.#promoteHedge(error)
      return
    }
    if (this.#failOver(line.choice, error, unwritten)) return
    this.#active = null
    this.#deadline?.cancel()
    this.#options.failed(error)
  }

  /** Another takes the place of one that failed; false when there is none. */
  #failOver(
    failed: RecogniserChoice,
    error: VendorFailure,
    unwritten: { readonly startMs: number; readonly endMs: number } | null = null,
  ): boolean {
    for (let next = this.#nextFallback(); next !== null; next = this.#nextFallback()) {
      const opened = this.#open(next)
      if (opened instanceof EngineError) {
        this.#tried.add(next)
        continue
      }
      const same = next.recogniser === failed.recogniser && next.model === failed.model
      if (!same && unwritten !== null) this.#utterance ??= { ...unwritten, finalReceived: false }
      this.#options.recogniserFailed(error, failed.recogniser.id, same ? null : next.recogniser.id)
      this.#activate(opened)
      this.#armDeadline()
      return true
    }
    return false
  }

  /** The one that was asked beside it takes the place of the first. */
  #promoteHedge(error: VendorFailure): void {
    const { breakers, clock, recogniserFailed: replaced } = this.#options
    const before = this.#active
    const rescue = this.#hedge
    if (rescue === null) return
    this.#hedge = null
    if (before !== null) {
      const stalled =
        clock.now() - this.#hedgedAtMs >= before.stream.capabilities.finalDeadlineMs * (1 - LATE)
      if (stalled && !this.#tried.has(before.choice)) breakers.failed(keyOf(before.choice), true)
      before.stream.close()
      replaced(error, before.choice.recogniser.id, rescue.choice.recogniser.id)
    }
    this.#active = rescue
    this.#options.capabilitiesChanged()
  }

  /** A final text is owed: when it is late, another recogniser is asked too. */
  #armDeadline(): void {
    this.#deadline?.cancel()
    const line = this.#active
    const owed = this.#utterance !== null && this.#utterance.endMs !== null
    if (!owed || line === null || this.#hedge !== null || this.#nextFallback() === null) return
    if (line.stream.capabilities.ownFinalDeadline) return
    this.#deadline = this.#options.clock.after(line.stream.capabilities.finalDeadlineMs * LATE, () => {
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

function supports({ languages }: RecogniserChoice, language: string): boolean {
  return languages === null || languages.includes(language)
}

/** What a stream understands now. */
function languagesOf({ stream, language }: SttStream): readonly string[] {
  return stream.capabilities.understoodLanguages ?? [language]
}

function keyOf({ recogniser, model }: RecogniserChoice): string {
  return breakerKey('speech_to_text', recogniser.id, model)
}
