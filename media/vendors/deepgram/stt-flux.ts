import type { TimedWord } from '../../agent/agent-spec.js'
import { combinedLanguages, vendorTag } from '../../agent/language/language-tags.js'
import type { SpeechToTextCapabilities } from '../../agent/vendor-ports.js'
import { pcmBytes } from '../shared/pcm-bytes.js'
import type { RecognitionDialect, RecognitionReader } from '../shared/recognition-stream.js'
import { recognises } from '../shared/streaming-recogniser.js'
import type { FailureClass } from '../shared/vendor-socket.js'
import {
  classifyDeepgram,
  type DeepgramStream,
  deepgramError,
  FLUX_TOGETHER,
  firstLanguage,
  keyTerms,
  readWords,
} from './messages.js'
import type { DeepgramSettings } from './settings.js'

/** Confidence at which the vendor reports a possible end of turn (0.3 to 0.9); it ends turns at 0.7. */
const EAGER_THRESHOLD = '0.5'

/**
 * `v2/listen` for the Flux models: the vendor detects the start and end of turns, and each message carries
 * the whole turn so far. https://developers.deepgram.com/reference/speech-to-text/listen-flux
 */
export class DeepgramFluxDialect implements RecognitionDialect {
  readonly capabilities: SpeechToTextCapabilities
  readonly chunkMs = 80
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly keepAlive: { readonly afterMs: number; message(): Uint8Array }

  constructor(settings: DeepgramSettings, stream: DeepgramStream) {
    const several = stream.model.includes('multi')
    const understood = several
      ? combinedLanguages(stream.language, stream.languages, FLUX_TOGETHER)
      : [stream.language]
    this.capabilities = recognises(understood, {
      endOfUtterance: true,
      wordTimes: true,
      // The vendor waits until the sentence is complete, which takes this long when the caller pauses to
      // think.
      finalDeadlineMs: 2500,
    })
    const query = new URLSearchParams({
      model: stream.model,
      encoding: 'linear16',
      sample_rate: String(stream.rate),
      eager_eot_threshold: EAGER_THRESHOLD,
    })
    if (several) for (const tag of understood) query.append('language_hint', vendorTag('iso', tag))
    for (const term of keyTerms(stream.vocabulary)) query.append('keyterm', term)
    this.url = `${settings.baseUrl}/v2/listen?${query}`
    this.headers = { authorization: `Token ${settings.apiKey}` }
    // Only audio keeps the connection alive; there is no message for it.
    const silence = new Uint8Array((stream.rate / 1000) * 80 * 2)
    this.keepAlive = { afterMs: 2000, message: () => silence }
  }

  encode(pcm: Int16Array): Uint8Array {
    return pcmBytes(pcm)
  }

  flush(): null {
    return null
  }

  closeMessage(): string {
    return '{"type":"CloseStream"}'
  }

  classify(code: number, reason: string): FailureClass {
    return classifyDeepgram(code, reason)
  }

  reset(): void {
    // Nothing to reset: every message carries its whole turn.
  }

  read(message: Readonly<Record<string, unknown>>, reader: RecognitionReader): void {
    if (message.type === 'Error') reader.failed(deepgramError(message))
    if (message.type !== 'TurnInfo') return
    const text = typeof message.transcript === 'string' ? message.transcript.trim() : ''
    const language = this.capabilities.detectsLanguage ? firstLanguage(message.languages) : null
    if (message.event === 'EndOfTurn') {
      const words: readonly TimedWord[] = readWords(message.words)
      reader.final(text, words.length > 0 ? words : null, language)
    } else if (text !== '') {
      reader.partial(text, language)
      if (message.event === 'EagerEndOfTurn') reader.eager?.(true)
      if (message.event === 'TurnResumed') reader.eager?.(false)
    }
  }
}
