import type { SpeechToText, SpeechToTextCapabilities } from '../../agent/vendor-ports.js'
import { EngineError } from '../../base/errors.js'
import type { SessionRate } from '../../base/frame.js'
import type { VendorDeps } from '../vendor-module.js'
import { type RecognitionDialect, RecognitionStream } from './recognition-stream.js'
import type { FailureClass } from './vendor-socket.js'

/** Options of one recognition stream. */
export interface RecognitionRequest {
  readonly rate: SessionRate
  /** Language at the start. */
  readonly language: string
  /** All languages that may be spoken, `language` among them. */
  readonly languages: readonly string[]
  readonly model: string
  /** Names and terms that the caller may use. */
  readonly vocabulary: readonly string[]
}

/** All languages but Odia: what several vendors hear within one stream. */
export const TEN_LANGUAGES = [
  'en-IN',
  'hi-IN',
  'bn-IN',
  'ta-IN',
  'te-IN',
  'kn-IN',
  'ml-IN',
  'mr-IN',
  'gu-IN',
  'pa-IN',
] as const

/**
 * Returns the function that opens the STT of a vendor whose wire format is a `RecognitionDialect`; each stream has a dialect
 * of its own.
 */
export function streamingRecogniser<Settings>(
  id: string,
  defaultModel: string,
  dialects: (settings: Settings) => (request: RecognitionRequest) => RecognitionDialect,
): (settings: Settings, deps: Pick<VendorDeps, 'clock' | 'log'>) => SpeechToText {
  return (settings, { clock, log }) => {
    const dialectOf = dialects(settings)
    return {
      id,
      open({ rate, language, languages = [language], model, vocabulary = [] }, events) {
        const dialect = dialectOf({ rate, language, languages, model: model ?? defaultModel, vocabulary })
        return new RecognitionStream({ dialect, rate, events, clock, log })
      },
    }
  }
}

/** Returns the capabilities of a stream with partial texts that understands these languages, one or several. */
export function recognises(
  understood: readonly string[],
  rest: Pick<SpeechToTextCapabilities, 'endOfUtterance' | 'wordTimes' | 'finalDeadlineMs'>,
): SpeechToTextCapabilities & { readonly detectsLanguage: boolean } {
  return {
    partials: true,
    understandsSpeech: true,
    understoodLanguages: understood,
    detectsLanguage: understood.length > 1,
    ...rest,
  }
}

/** Returns the error for a failure that the vendor's message reports. `text` is the vendor's, or anything else. */
export function reportedFailure(
  { code, retryable }: FailureClass,
  what: string | number,
  text: unknown,
  context: Readonly<Record<string, unknown>>,
): EngineError {
  const said = typeof text === 'string' ? text : 'unknown'
  return new EngineError(code, `the vendor reports ${what} ${said}`, { retryable, context })
}
