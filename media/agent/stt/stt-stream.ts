import type { SessionRate } from '../../base/frame.js'
import type { RecognitionMode, TimedWord } from '../agent-spec.js'
import { breakerKey } from '../circuit-breaker.js'
import { toVendorFailure } from '../tts/synthesis.js'
import type {
  SpeechToText,
  SpeechToTextCapabilities,
  SpeechToTextStream,
  VendorFailure,
} from '../vendor-ports.js'

/** Assumed before a stream is open. */
export const UNKNOWN_CAPABILITIES: SpeechToTextCapabilities = {
  partials: false,
  endOfUtterance: false,
  wordTimes: false,
  understandsSpeech: true,
  finalDeadlineMs: 1500,
}

/** Audio before the VAD onset (the first consonant), and the time that the VAD needs to report the onset. */
export const PRE_ROLL_MS = 300
const ONSET_DELAY_MS = 100

/** A recogniser with the settings that the agent uses. */
export interface RecogniserChoice {
  readonly recogniser: SpeechToText
  readonly model: string | null
  readonly mode: RecognitionMode
  /** Languages that the model understands. Null means the language of the stream. */
  readonly languages: readonly string[] | null
}

/** A stream and its recogniser. */
export interface SttStream {
  readonly choice: RecogniserChoice
  /** Index in the list of recognisers. */
  readonly index: number
  readonly language: string
  readonly stream: SpeechToTextStream
}

/** Speech that the VAD detected and that has no final text yet. */
export interface Utterance {
  readonly startMs: number
  /** Null while the speech goes on. */
  readonly endMs: number | null
  /** A final text arrived during the speech, which may be complete. */
  readonly finalReceived: boolean
}

/** Events of a stream. None arrives before the stream is open. */
export interface SttStreamEvents {
  partial(stt: SttStream, text: string): void
  final(stt: SttStream, text: string, words: readonly TimedWord[] | null, language: string | null): void
  eagerEndOfTurn(stt: SttStream, complete: boolean): void
  failed(stt: SttStream, error: VendorFailure): void
}

/** Opens a stream for the spoken languages that the recogniser understands. Returns the failure if any. */
export function openSttStream(
  choice: RecogniserChoice,
  options: {
    readonly rate: SessionRate
    readonly language: string
    readonly languages: readonly string[]
    readonly vocabulary: readonly string[]
    readonly index: number
  },
  events: SttStreamEvents,
): SttStream | VendorFailure {
  const { rate, language, languages, vocabulary, index } = options
  let stt: SttStream | null = null
  try {
    const stream = choice.recogniser.open(
      {
        rate,
        language,
        languages: languages.filter((tag) => supports(choice, tag)),
        model: choice.model,
        mode: choice.mode,
        vocabulary,
      },
      {
        partial: (text) => {
          if (stt !== null) events.partial(stt, text)
        },
        final: (text, words, detected = null) => {
          if (stt !== null) events.final(stt, text, words, detected)
        },
        eagerEndOfTurn: (complete) => {
          if (stt !== null) events.eagerEndOfTurn(stt, complete)
        },
        failed: (error) => {
          if (stt !== null) events.failed(stt, error)
        },
      },
    )
    stt = { choice, index, language, stream }
    return stt
  } catch (error) {
    return toVendorFailure(error)
  }
}

/** Gives a new stream an utterance in progress: its audio, and its start and end as the VAD reported them. */
export class UtteranceReplay {
  readonly #stream: SpeechToTextStream
  readonly #utterance: Utterance | null
  readonly #write: (pcm: Int16Array, atMs: number) => void
  #started: boolean

  constructor(
    stream: SpeechToTextStream,
    utterance: Utterance | null,
    write: (pcm: Int16Array, atMs: number) => void,
  ) {
    this.#stream = stream
    this.#utterance = utterance
    this.#write = write
    this.#started = utterance === null
  }

  write(pcm: Int16Array, atMs: number): void {
    if (this.#utterance !== null && atMs >= this.#utterance.startMs + ONSET_DELAY_MS) this.#start()
    this.#write(pcm, atMs)
  }

  end(): void {
    if (this.#utterance === null) return
    this.#start()
    if (this.#utterance.endMs !== null) this.#stream.utteranceEnd(this.#utterance.endMs)
  }

  #start(): void {
    if (this.#started || this.#utterance === null) return
    this.#started = true
    this.#stream.utteranceStart(this.#utterance.startMs)
  }
}

export function supports({ languages }: RecogniserChoice, language: string): boolean {
  return languages === null || languages.includes(language)
}

/** Returns the languages that a stream understands now. */
export function languagesOf({ stream, language }: SttStream): readonly string[] {
  return stream.capabilities.understoodLanguages ?? [language]
}

export function keyOf({ recogniser, model }: RecogniserChoice): string {
  return breakerKey('speech_to_text', recogniser.id, model)
}
